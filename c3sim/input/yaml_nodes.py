from c3sim.input.documents import *  # noqa: F403

from c3sim.input.write import *  # noqa: F403

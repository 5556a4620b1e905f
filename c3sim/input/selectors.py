from c3sim.input.paths import *  # noqa: F403

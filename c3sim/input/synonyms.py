from c3sim.specs.words import *  # noqa: F403

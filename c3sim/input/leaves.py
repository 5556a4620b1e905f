from c3sim.specs.sourced import *  # noqa: F403

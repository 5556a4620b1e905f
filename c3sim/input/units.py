from c3sim.specs.units import *  # noqa: F403

from c3sim.specs.quantities import *  # noqa: F403

"""A sweep that several tests look at."""

import pytest
from sweep_case import write

from c3sim.experiments.sweep import sweep


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The small study, run once, without a stop."""
    folder = tmp_path_factory.mktemp("whole")
    return sweep(write(folder), folder / "out")

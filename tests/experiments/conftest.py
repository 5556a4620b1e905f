"""A sweep and a study that several tests look at."""

import pytest
from shared import shared
from sweep_case import write

import c3sim
from c3sim.experiments.sweep import sweep


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The small study, run once, without a stop."""
    folder = tmp_path_factory.mktemp("whole")
    return sweep(write(folder), folder / "out")


@pytest.fixture(scope="session")
def dma_latte(tmp_path_factory):
    """The packaged study of that name."""
    return shared(tmp_path_factory, "dma-latte", lambda: c3sim.study("dma-latte", n_jobs=1))

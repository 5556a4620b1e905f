"""Shared by the tests of the loader."""

from pathlib import Path

import pytest

from c3sim.errors import InputError, InputErrors
from c3sim.spec.reading import library

HWMODELS = library.find("gpu", "teaching").parent

WORKLOAD = """\
schema: 1
name: pair
tasks:
  gather:
    kind: collective
    op: all_gather
    size: 896 MiB
    stream: comm
  gemm: {kind: gemm, m: 8192, n: 8192, k: 8192}
streams:
  comm: {priority: 1, compute_units: "0-31"}
"""


def errors_of(load, name, text):
    data = text if isinstance(text, bytes) else text.encode()
    Path(name).write_bytes(data)
    with pytest.raises(InputErrors) as caught:
        load(Path(name))
    return str(caught.value).splitlines()


def error_of(check, *arguments):
    """The message of *check* on *arguments* that are wrong."""
    with pytest.raises((InputError, InputErrors)) as caught:
        check(*arguments)
    return str(caught.value)

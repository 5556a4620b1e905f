"""JSON output: of nccl-tests (``-J FILE``, one object) and of rccl-tests (``-Z json``, one object
per measurement).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..collector import Collector
from ..names import version_of
from ..partial_json import read_members
from ..result import Given, ImportResult
from .columns import column_name, read_table, row_of
from .header import name_collective
from .rows import add_row
from .run import Run

_VARIABLE = re.compile(r"((?:NCCL|RCCL|HSA|HIP|CUDA)_\w+)=(.*)")
_NO_CONDITION = ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_COMM_ID")


def read(text: str, given: Given) -> ImportResult:
    """Every result; of a document that is cut off, those before the cut."""
    collector = Collector("nccl-tests JSON", given)
    document, results, fault = read_members(text, "results")
    if fault is not None:
        collector.broken(fault.message, fault.line)
    if document is None:  # a list, or one object per line
        read_table(results, collector, given)
        return collector.result()
    try:
        run = _run(document)
    except (AttributeError, TypeError, ValueError, IndexError):
        collector.broken("config, args, devices or env are not as nccl-tests writes them", 1)
        run = Run()
    name_collective(run, collector, given, 1)
    for index, result in enumerate(results):
        line = text.count("\n", 0, _position(text, index)) + 1 if "\n" in text else 1
        try:
            row = row_of(_values(result), line)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            expected = "expected size, type, out_of_place and in_place with time and alg_bw"
            collector.broken(f"results[{index}]: {what}; {expected}", line)
            continue
        add_row(collector, run, row)
    if not results:
        collector.broken("no results; expected a list 'results' with one entry per size", 1)
    elif fault is None and "end_time" not in document:
        collector.warn("no end_time: the run may not have finished")
    return collector.result()


def _position(text: str, index: int) -> int:
    """Where the entry with that index begins."""
    for count, match in enumerate(re.finditer(r'"size"\s*:', text)):
        if count == index:
            return match.start()
    return 0


def _run(document: Mapping[str, Any]) -> Run:
    config = document.get("config") or {}
    arguments = [str(argument) for argument in document.get("args") or [""]]
    devices = [device for device in config.get("devices") or [] if isinstance(device, dict)]
    run = Run(executable=arguments[0].rsplit("/", 1)[-1] if arguments else "")
    if devices:
        run.device = str(devices[0].get("device_info", "")).strip()
        run.ranks = {
            int(d["rank"]): f"{d.get('hostname')}:{d.get('pid')}" for d in devices if "rank" in d
        }
    threads, each = int(config.get("nthreads", 1)), int(config.get("ngpus", 1))
    run.gpus = max(len(run.ranks), threads * each) or None
    run.settings = {"nThread": str(threads), "nGpus": str(each)}
    names = (("iters", "iterations"), ("warmup", "warmup_iters"), ("graph", "graph"))
    run.settings |= {key: str(int(config[name])) for key, name in names if name in config}
    run.library = "rccl" if "rccl_version" in document else ""
    run.versions = [f"{run.backend}-tests, JSON version {document.get('version')}"]
    code = document.get("nccl_version", document.get("rccl_version"))
    if isinstance(code, int):
        run.versions.append(f"{run.backend.upper()} {version_of(code)}")
    for match in filter(
        None, (_VARIABLE.fullmatch(str(text)) for text in document.get("env") or [])
    ):
        if match[1] == "NCCL_MAX_NCHANNELS" and match[2].isdigit():
            run.channels = int(match[2])
        if match[1] not in _NO_CONDITION:
            run.versions.append(match[0])
    return run


def _values(result: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of ``results`` as columns by name."""
    values = {column_name(name): value for name, value in result.items()}
    for place, key in enumerate(("out_of_place", "in_place")):
        for name, value in (result.get(key) or {}).items():
            values[f"{column_name(name)}:{place}"] = value
    if "time:0" not in values and "time:1" not in values:
        raise ValueError("neither out_of_place nor in_place")
    return values

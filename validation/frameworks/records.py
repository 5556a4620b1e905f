"""Records of what the drivers of this folder measured, and their cases as workloads.

    python -m c3sim.validation.frameworks.records pieces PLAN.yaml pieces.jsonl NODE > FILE
    python -m c3sim.validation.frameworks.records operators PLAN.yaml operators.jsonl NODE SUITE
    python -m c3sim.validation.frameworks.records one-gpu PLAN.yaml one-gpu.jsonl RUN
    python -m c3sim.validation.frameworks.records stress FOLDER NODE
    python -m c3sim.validation.frameworks.records what-if
    python -m c3sim.validation.frameworks.records experts

``what-if`` reads the GEMMs and pairs of one H100 and one H200 that were predicted first (plans and
runs lie in validation/data/kernels) and gives ``what-if.jsonl`` there. A record needs tasks that
say what was run and nothing of the model: GEMMs, streams, copies to and from the host. Pairs with
other kernels are what an iteration makes of its operators, and stand in docs/predictions alone.
``experts`` likewise: the grouped products of validation/data/experts, ``grouped.jsonl`` there.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from c3sim.iterations.load import Load
from c3sim.spec.record import record_id

Json = dict[str, Any]
HERE = Path(__file__).parent
DATA = HERE.parent / "data/kernels"
CUDA = "PyTorch 2.11.0, CUDA 13.0"
TWO = "validation/frameworks/{}.py, two NVIDIA H200 of one host in a virtual machine"
ELEMENT, MIB = 2, 1 << 20  # bytes of bf16
ONE_GPU = "h200-2"  # the node of which one_gpu.py had a GPU
ROLES = ("calibration", "validation")  # of the cases of one_gpu.py, in turns
HOLD_TIME = 12e-3
LOOPED = 400  # turns of GEMMs before those that are taken to be at the power limit
CALLS, RUNS = 16, (1, 2)
IN_GRAPH = {"data": "random", "repeat": CALLS}
#: Name of the runs -> suffix of the plans, and when they were run.
PLANS = {
    "what-if": ("", "2026-11-24"),
    "what-if-2": ("-2", "2026-11-24"),
    "what-if-3": ("-3", "2026-11-28"),
    "what-if-4": ("-4", "2026-11-28"),
}
NODES = {"h200": "h200-1", "h100": "h100-1"}
#: Plans of parts.py and when they were run; what is a product's M, N, K.
PARTS = {"parts": "2026-11-24", "parts-2": "2026-11-28"}
GROUPED = {"grouped": "mnk", "grouped-weight": "nkm"}
#: A kernel of one thread that sleeps: it has room beside any other.
LATE = {"kind": "kernel", "workgroups": 1, "per_unit": 64, "lds": 0.0}


def record(
    suite: str, workload: Json, measured: Json, role: str = "validation", **about: Any
) -> Json:
    """A record of *workload*, which names its node; *about*: source, date and further fields."""
    workload = {"schema": 1, **workload}
    node, software = workload["node"], about.pop("software", CUDA)
    named = {"schema": 1, "id": record_id(node, workload, "as_written", software), "suite": suite}
    ran = {"node": node, "workload": workload, "strategy": "as_written", "measured": measured}
    return {**named, **ran, **about, "software": software, "role": role}


def gemm(shape: Any, **about: Any) -> Json:
    """A GEMM of *shape* m, n, k."""
    return {"kind": "gemm", **dict(zip("mnk", shape, strict=True)), **about}


def copy(mib: int, source: str, destination: str) -> Json:
    return {"kind": "copy", "bytes": mib * MIB, "source": source, "destination": destination}


def lines(file: Path) -> list[Json]:
    raw = file.read_bytes()
    return [
        json.loads(line)
        for line in (gzip.decompress(raw) if file.suffix == ".gz" else raw).splitlines()
    ]


def plan_of(file: str | Path) -> Any:
    return yaml.safe_load(Path(file).read_text(encoding="utf-8"))


def piece(plan: Json, gemm: str, schedule: str, by: str, node: str) -> Json:
    """A case of pieces.py in SI units: released behind a barrier of the GPUs, in a loop. The host
    is far ahead: kernels are queued in the order of their launches, copies have been called for.
    """
    shape, given, ahead = plan["gemms"][gemm], plan["schedules"][schedule], by == "dma"
    size = shape["m"] * shape["k"] * ELEMENT
    gather: Json = {"kind": "collective", "op": "all_gather", "size": size, "backend": by}
    if ahead:
        gather |= {"direction": "pull", "mapping": "ipc", "out_of_place": given is None}
    tasks = {"gather": gather, "gemm": {"kind": "gemm", "after": ["gather"], **shape}}
    return _looped(plan, f"{gemm}, {schedule}, by {by}", node, tasks, ahead) | (
        {} if given is None else {"schedule": given}
    )


def operator(plan: Json, op: str, gemm: str, way: str, node: str) -> Json:
    """A case of operators.py in SI units, behind a barrier of the GPUs, in a loop; the host is far
    ahead.
    """
    shape, ahead = plan["gemms"][op][gemm], way == "operator"
    moved = shape["m"] * shape["k" if op == "all_gather" else "n"] * ELEMENT
    exchange = {"kind": "collective", "op": op, "size": moved, "backend": "nccl"}
    if ahead:
        exchange |= {"backend": "dma", "mapping": "ipc"}
    both = {"exchange": exchange, "gemm": {"kind": "gemm", **shape}}
    first, second = ("exchange", "gemm") if op == "all_gather" else ("gemm", "exchange")
    tasks = {first: both[first], second: {**both[second], "after": [first]}}
    return _looped(plan, f"{op}, {gemm}, {way}", node, tasks, ahead) | (
        {"schedule": {"kind": "micro_pipeline"}} if ahead else {}
    )


def _looped(plan: Json, name: str, node: str, tasks: Json, ahead: bool) -> Json:
    loop = {"iterations": plan["turns"], "begin": "release"}
    host = {"release": "per_rank" if ahead else "event", "loop": loop}
    return {"schema": 1, "name": name, "node": node, "tasks": tasks, "host": host}


def pieces(plan_file: str, measured: str, node: str) -> Iterator[Json]:
    """A record for each line that pieces.py has written."""
    return _turns("pieces", piece, ("gemm", "schedule", "by"), plan_file, measured, node)


def operators(plan_file: str, measured: str, node: str, suite: str) -> Iterator[Json]:
    """A record for each line that operators.py has written."""
    case = ("op", "gemm", "way")
    return _turns("operators", operator, case, plan_file, measured, node, suite)


def _turns(
    driver: str,
    workload: Any,
    case: tuple[str, ...],
    plan_file: str,
    measured: str,
    node: str,
    suite: str = "h200_pieces",
) -> Iterator[Json]:
    plan = plan_of(plan_file)
    for line in lines(Path(measured)):
        conditions = workload(plan, **{key: line[key] for key in case}, node=node)
        turns = [round(1e6 * each, 3) for each in line["turns_s"]]
        yield record(
            suite,
            conditions,
            {"wall_us": round(median(turns), 3)},
            samples=len(turns),
            source=TWO.format(driver),
            software="PyTorch 2.11.0, NCCL 2.28.9, CUDA 13.0",
            date="2026-11-23",
            sets={"wall": {"times_us": turns}},
        )


def cases_of_one_gpu(plan: Json) -> Iterator[tuple[Json, str, Json]]:
    """Each case of *plan* as one_gpu.py says it, with its role and its workload."""
    for suite, types in plan["gemms"].items():
        for dtype, shapes in types.items():
            for place, shape in enumerate(shapes):
                task = gemm(shape, dtype=dtype, library="cublas", inputs="warm", data="random")
                name = f"{dtype} GEMM {'x'.join(map(str, shape))}, {plan['turns']} in a queue"
                tasks = {"gemm": task | {"repeat": plan["turns"]}}
                about = {"suite": suite, "dtype": dtype, "shape": shape}
                yield about, ROLES[place % 2], {"name": name, "node": ONE_GPU, "tasks": tasks}
    for place, load in enumerate(plan["power"]["loads"]):
        name, task = _load(load)
        workload = {"name": f"{name}, over and over", "node": ONE_GPU, "tasks": {"load": task}}
        yield {"suite": "h200_power_types", "load": load}, ROLES[place % 2], workload


def _load(load: Json) -> tuple[str, Json]:
    if load["kind"] == "gemm":
        extent, dtype, data = load["extent"], load["dtype"], load.get("data", "random")
        task = gemm([extent] * 3, dtype=dtype, library="cublas", inputs="warm", data=data)
        return f"{dtype} GEMM {extent}^3 of {data} data", task
    ends = (load["source"], load["destination"])
    return f"copy of {load['mib']} MiB, {' to '.join(ends)}", copy(load["mib"], *ends) | {
        "executor": "dma"
    }


def one_gpu(plan_file: str, measured: str, run: str) -> Iterator[Json]:
    """A record for each line that one_gpu.py has written; lines that say an error are left out.
    The power of a load stands in ``observed.energy``, as the probe's does.
    """
    source = f"validation/frameworks/one_gpu.py, one NVIDIA H200 in a virtual machine, run {run}"
    both = zip(cases_of_one_gpu(plan_of(plan_file)), lines(Path(measured)), strict=True)
    for (case, role, workload), line in both:
        assert all(case.get(key) == line.get(key) for key in ("suite", "dtype", "shape", "load"))
        if "error" in line:
            print(f"left out: {line}", file=sys.stderr)
            continue
        found: Json = {"isolated": {}}
        about: Json = {"samples": 1, "source": source, "date": "2026-11-23"}
        if "us" in line:
            found["isolated"]["gemm"] = round(median(line["us"]), 3)
            about |= {"samples": len(line["us"])}
            about |= {"sets": {"isolated.gemm": {"times_us": line["us"]}}}
        else:
            energy = {"gpus": [{"power_w": line["power_w"]}], "iteration_us": line["turn_us"]}
            about["observed"] = {"energy": energy, "clocks_mhz": line["clocks_mhz"]}
        yield record(case["suite"], workload, found, role, **about)


def stress(folder: str, node: str) -> Iterator[Json]:
    """Records of stress.py. Of several ranks a record has the slowest. Times of GEMMs after a pause
    are those of the second to eighth, in a loop at the power limit of the last eight.
    """
    about = {"source": TWO.format("stress"), "date": "2026-11-22"}
    for name, of in (("gemm_beside_holds", _holds), ("streams", _streams), ("clock", _clock)):
        ranks = [json.loads(file.read_text()) for file in sorted(Path(folder).glob(f"{name}.*"))]
        for suite, workload, measured in of(ranks):
            role = "calibration" if name == "clock" else "validation"
            yield record(suite, {"node": node, **workload}, measured, role, **about)


Stressed = Iterator[tuple[str, Json, Json]]  # suite, workload, measured


def _holds(ranks: list[Any]) -> Stressed:
    rows: dict[tuple[Any, ...], float] = {}
    for row in (row for rank in ranks for row in rank):
        key = (*row["gemm"], row["data"], row["held"])
        rows[key] = max(rows.get(key, 0.0), median(row["us"][1:]))
    for (*shape, data, held), time in rows.items():
        if not held:
            continue
        hold = {"kind": "hold", "workgroups": held, "time": HOLD_TIME}
        workload = {
            "name": f"{'x'.join(map(str, shape))} of {data} data beside {held} held SMs",
            "tasks": {"hold": hold, "gemm": gemm(shape, data=data)},
            "host": {"order": ["hold", "gemm"]},
        }
        isolated = {"gemm": rows[*shape, data, 0]}
        measured = {"tasks": {"gemm": {"time_us": time}}, "isolated": isolated}
        yield "h200_gemm_beside_holds", workload, measured


def _streams(ranks: list[Any]) -> Stressed:
    for rows in zip(*ranks, strict=True):
        pattern, kib = rows[0]["pattern"], rows[0]["kib"]
        if pattern not in ("copy", "triad", "write"):
            continue  # a sum writes as well; a call of the runtime is a copy
        stream = {"kind": "stream", "pattern": pattern, "bytes": kib * 1024, "repeat": 40}
        tasks = {"stream": {**stream, "inputs": "warm"}}
        time = max(40 * median(each["us"]) for each in rows)
        workload = {"name": f"{pattern} of {kib} KiB, 40 in a queue", "tasks": tasks}
        yield "h200_streams_in_loops", workload, {"isolated": {"stream": time}}


def _clock(ranks: list[Any]) -> Stressed:
    for rows in zip(*ranks, strict=True):
        n, data, before = (rows[0][key] for key in ("n", "data", "before"))
        if data == "pattern" or before not in ("idle", "gemm16384"):
            continue
        paused = before == "idle"
        seen = slice(1, 8) if paused else slice(-8, None)
        time = max(median(each["gemm_us"][seen]) for each in rows)
        where = "after a pause" if paused else "at the power limit"
        workload = {
            "name": f"{n}^3 of {data} data {where}",
            "tasks": {"gemm": gemm([n] * 3, data=data)},
            "host": {"loop": {"iterations": 2 if paused else LOOPED, "barrier": True}},
        }
        yield "h200_clock", workload, {"isolated": {"gemm": time}}


def what_if() -> Iterator[Json]:
    """GEMMs and pairs of four plans, each run twice on each card."""
    for plan, gpu, run in product(PLANS, NODES, RUNS):
        if (DATA / f"{gpu}-{plan}-kernels-{run}.jsonl.gz").exists():
            yield from _gemms(plan, gpu, run)
            yield from _pairs(plan, gpu, run)


def _gemms(plan: str, gpu: str, run: int) -> Iterator[Json]:
    for row in lines(DATA / f"{gpu}-{plan}-kernels-{run}.jsonl.gz"):
        if row["operator"] != "gemm" or "error" in row:
            continue
        shape, of = [row[extent] for extent in "mnk"], (row["dtype"], row["buffers"])
        name = f"GEMM {'x'.join(map(str, shape))} {of[0]}, {of[1]}, {CALLS} in a graph"
        how = {"library": "cublas", "inputs": of[1], **IN_GRAPH}
        about = _ran("kernels", row, plan, run)
        yield _graph("what_if_gemms", gpu, name, gemm(shape, dtype=of[0], **how), row, **about)


def _graph(suite: str, gpu: str, name: str, task: Json, row: Json, **about: Any) -> Json:
    """A record of CALLS GEMMs in a graph, with the times of *row*."""
    how = {"host": {"launch": "graph"}, "tasks": {"gemm": task}}
    workload = {"name": name, "node": NODES[gpu], **how}
    measured = {"isolated": {"gemm": round(CALLS * median(row["us"]), 2)}}
    return record(suite, workload, measured, samples=len(row["us"]), **about)


def experts() -> Iterator[Json]:
    """Products of experts' rows, one kernel for all, and gradients of their weights, by parts.py;
    those of H200 calibrate.
    """
    for gpu, (part, date) in product(NODES, PARTS.items()):
        for row in lines(DATA.parent / f"experts/{gpu}-{part}.jsonl.gz"):
            if row["operator"] not in GROUPED:
                continue
            count, m = row["experts"], row["m"]
            loads = Load(row["skew"], 1).fullest(count * m, count, 1)
            shape = [row[extent] for extent in GROUPED[row["operator"]]]
            shape[0] = -(-sum(loads) // len(loads)) if loads else shape[0]
            how = {"batch": len(loads) or count, "library": "grouped", "inputs": "rotating"}
            how |= IN_GRAPH | ({"rows": loads} if loads else {})
            name = f"{row['operator']} {count} x {'x'.join(map(str, shape))}"
            name += f", skew {row['skew']}" if loads else ""
            about = {"source": f"validation/frameworks/parts.py, one {row['gpu']}", "date": date}
            about["role"] = "calibration" if gpu == "h200" else "validation"
            yield _graph(f"{gpu}_grouped", gpu, name, gemm(shape, **how), row, **about)


def _pairs(plan: str, gpu: str, run: int) -> Iterator[Json]:
    """Records of pairs, with the times of both tasks alone."""
    said = plan_of(HERE / f"beside-blind{PLANS[plan][0]}.yaml")
    alone: dict[str, float] = {}
    for line in lines(DATA / f"{gpu}-{plan}-beside-{run}.jsonl.gz"):
        us = {name: median(times) for name, times in line["us"].items()}
        if len(us) == 1:
            alone |= us
            continue
        tasks = {name: _of_pair(said["tasks"][name]) for name in us}
        if None in tasks.values():
            continue
        first, second = ({**task, "stream": name} for name, task in tasks.items() if task)
        one, other = us
        late = {**LATE, "time": 1e-6 * said["later_us"], "stream": other}
        name = f"{one} + {other}, {said['later_us']} us later"
        together = {one: first, "late": late, other: second}
        workload = {"name": name, "node": NODES[gpu], "tasks": together}
        measured = {
            "wall_us": median(line["wall_us"]),
            "tasks": {name: {"time_us": time} for name, time in us.items()},
            "isolated": {name: alone[name] for name in us},
        }
        about = _ran("beside", line, plan, run)
        yield record("what_if_pairs", workload, measured, samples=len(line["wall_us"]), **about)


def _ran(driver: str, line: Json, plan: str, run: int) -> Json:
    source = f"validation/frameworks/{driver}.py, one {line['gpu']} in a virtual machine, run {run}"
    return {"source": source, "date": PLANS[plan][1]}


def _of_pair(task: Json) -> Json | None:
    """A task of a pair; None for one that a record cannot say."""
    kind = task["kind"]
    if kind == "gemm":
        how = {"library": "cublas", "inputs": "rotating", "data": "random"}
        return gemm([task[extent] for extent in "mnk"], **how)
    if kind == "stream":  # beside.py: its kernels claim no shared memory
        groups = {"workgroups": task["workgroups"], "lds": 0.0}
        return {"kind": kind, "pattern": task["pattern"], "bytes": task["mib"] * MIB, **groups}
    if kind == "copy":
        ends = ("host", "gpu") if task["from"] == "host" else ("gpu", "host")
        return copy(task["mib"], *ends)
    return None


KINDS: dict[str, Callable[..., Iterator[Json]]] = {
    "pieces": pieces,
    "operators": operators,
    "one-gpu": one_gpu,
    "stress": stress,
    "what-if": what_if,
    "experts": experts,
}


if __name__ == "__main__":
    for found in KINDS[sys.argv[1]](*sys.argv[2:]):
        print(json.dumps(found))

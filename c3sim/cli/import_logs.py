"""``c3sim import``: logs of benchmarks and profilers become measurement records, or a workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from c3sim.cli.consent import Yes, agreeing
from c3sim.cli.emit import emit_json, say
from c3sim.cli.options import Json
from c3sim.errors import LONGEST, C3simError, InputError, InputErrors, short
from c3sim.spec.words import counted

# ImportResult is of a package that is imported only when it is needed
Results = list[tuple[Path, Any]]

COMPLETE, PARTIAL, NOTHING = 0, 1, 2
SHOWN = 20  # remarks on a file that are printed


def import_logs(
    files: Annotated[
        list[Path],
        Argument(metavar="FILE...", help="Logs; .gz is unpacked. Of traces also folders."),
    ],
    node: Annotated[
        str | None,
        Option(metavar="NODE", help="The node they were measured on; needed, and never guessed."),
    ] = None,
    format: Annotated[str, Option(help="auto, or one of those below.")] = "auto",
    role: Annotated[
        str, Option(help="validation, or calibration (may be fitted to).")
    ] = "validation",
    suite: Annotated[str, Option(help="Name of the suite. Left out: after format and test.")] = "",
    assume: Annotated[
        list[str] | None,
        Option(metavar="KEY=VALUE", help="What a log lacks: op, size, dtype, m, n, k, gpus."),
    ] = None,
    as_: Annotated[
        str,
        Option(
            "--as",
            metavar="KIND",
            help="records; workload: of profiler traces; host: how slow it is, of timed calls.",
        ),
    ] = "records",
    iteration: Annotated[
        int | None,
        Option(metavar="K", help="Of a workload: the marked step K, else the K-th repetition."),
    ] = None,
    trace: Annotated[
        str | None,
        Option(metavar="FILE", help="Of a workload: trace and replay, for ui.perfetto.dev."),
    ] = None,
    side: Annotated[
        Path | None,
        Option(metavar="FILE", help="Of a Chakra trace: what it lacks (docs/your-trace.md)."),
    ] = None,
    translate: Annotated[
        str | None, Option(metavar="NODE", help="Of a workload: write it for this other node.")
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="FILE", help="Write it there (replaces it). Else: printed."),
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Turn logs of benchmarks and profilers into measurement records, one JSON line each, or one
    iteration of a PyTorch profiler trace, of one rank or several, or of a Chakra trace, into a
    workload that replays it, or timed calls of a framework (validation/frameworks/host.py) into
    the slowness of their host.

    \b
    Formats (found by content):
      nccl-tests        nccl-tests and rccl-tests, text, also with -A 1
      nccl-tests-json   their JSON output
      nccl-tests-csv    their CSV output
      transferbench     TransferBench p2p, scaling, a2a, test files, text and CSV
      hipblaslt-bench   hipblaslt-bench log
      rocblas-bench     rocblas-bench log
      loops             PyTorch profiler traces of a loop, all ranks
      kineto            PyTorch profiler trace, with overlap and slowdowns
      rocprofv3         kernel-trace CSV of rocprofv3, with overlap

    \b
    Exit code:
      0  everything in the logs was read (what is no record is named in a warning)
      1  a log is damaged or cut off, or gave kernel times but no record; what was
         read is written
      2  no log gave a record or a kernel time, or a file could not be opened;
         nothing is written

    \b
    Examples:
      c3sim import all_gather.txt --node mi300x-8 --out runs.jsonl
      c3sim import trace_rank0.json.gz --node mi300x-8 --json
      c3sim import rocblas.log --node mi300x-8 --assume dtype=bf16
      c3sim import turns/*.json.gz --node h200-2 --out loops.jsonl
      c3sim import rank*.json.gz --as workload --node h200-2 --out step.yaml
      c3sim import traces/ --as workload --translate mi300x-8 --out step.yaml
      c3sim import step.*.et --as workload --side side.yaml --out step.yaml
      c3sim import host/host.rank*.jsonl --as host --node h200-2
    """
    of_workloads = {"--iteration": iteration, "--trace": trace, "--side": side}
    _check_kind(as_, of_workloads | {"--translate": translate})
    if node is None:
        raise _without_node(files[0], format)
    from c3sim.importers import effort_of_logs

    agreeing(yes)(effort_of_logs(files))
    if as_ == "host":
        _import_host(files, node, as_json)
        return
    if as_ == "workload":
        from c3sim.cli.import_workload import import_workload

        import_workload(
            files, node, iteration, out, trace, as_json, side=side, other=translate, yes=yes
        )
        return
    from c3sim.cli.progress import working
    from c3sim.importers import combine_loops, find_target, import_file
    from c3sim.importers.values import parse_assumptions

    target, doubt = find_target(node, role, suite, parse_assumptions(assume or ()))
    results: Results = []
    errors: list[InputError] = []
    for file in files:
        try:
            with working(f"reading {file.name}"):
                results.append((file, import_file(file, format, target, large=yes)))
        except C3simError as error:
            errors += getattr(error, "errors", [error])
    if errors:
        raise InputErrors(errors)
    if loops := [loop for _, result in results for loop in result.loops]:
        results.append((Path(f"{len(loops)} traces"), combine_loops(loops, target)))
    if doubt:
        say(f"warning: {doubt}")
    _report(results)
    code = _code(results)
    _write(results, out if code != NOTHING else None, as_json, code)
    raise typer.Exit(code)


def _without_node(file: Path, format: str) -> InputError:
    """Message where no node is given, with the one that the header of *file* fits."""
    from c3sim.importers import fitting_nodes

    fitting = " or ".join(fitting_nodes(file, format)) if file.is_file() else ""
    hint = f"by its header it may be {fitting}" if fitting else "'c3sim list' has the packaged"
    return InputError(f"missing; must be the node the logs were measured on; {hint}", "--node")


def _check_kind(as_: str, of_workloads: Mapping[str, object]) -> None:
    """Raises InputError: no such kind, or an option of workloads with another one."""
    if as_ not in ("records", "workload", "host"):
        raise InputError(f"got {as_!r}; must be records, workload or host", "--as")
    for option, value in of_workloads.items():
        if as_ != "workload" and value is not None:
            raise InputError("is of workloads; give --as workload too", option)


def _import_host(files: list[Path], node: str, as_json: bool) -> None:
    """Print how slow the host is on which the calls in *files* were timed."""
    from c3sim.validation.frameworks.slowness import lines_of, slowness

    found = slowness(lines_of(files), node)
    if as_json:
        emit_json(found.to_dict())
        return
    low, high = min(found.calls.values()), max(found.calls.values())
    typer.echo(f"slowness {found.value:.2f}, of {len(found.calls)} calls {low:.2f} to {high:.2f}")
    for rank, value in found.ranks.items():
        typer.echo(f"  rank {rank}: {value:.2f}")
    typer.echo(f"in runs of this process, on this machine: --set slowness={found.value:.2f}")


def _code(results: Results) -> int:
    if not any(result.records or result.kernels for _, result in results):
        return NOTHING
    complete = all((result.records or result.loops) and not result.partial for _, result in results)
    return COMPLETE if complete else PARTIAL


def _report(results: Results) -> None:
    """Print remarks, then a line for each file, to standard error."""
    for file, result in results:
        for remark in result.remarks[:SHOWN]:
            place = f"{file}:{remark.line}" if remark.line else str(file)
            message = short(remark.message, LONGEST - len(place) - len("not read: "))
            say(f"{place}: {'not read' if remark.lost else 'warning'}: {message}")
        if (more := len(result.remarks) - SHOWN) > 0:
            say(f"{file}: and {more} more remarks; --json has all")
        partial = ", partial: not everything could be read" if result.partial else ""
        if not result.loops:  # their records are of all ranks
            say(f"{file}: {result.format}, {counted(len(result.records), 'record')}{partial}")


def _write(results: Results, out: Path | None, as_json: bool, code: int) -> None:
    import json

    records = [record for _, result in results for record in result.records]
    lines = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)
    if out is not None and records:
        from c3sim.kit.files import write_text

        write_text(out, lines)
    if as_json:
        files = [_summary(file, result) for file, result in results]
        named = str(out) if out else None
        emit_json({"files": files, "records": records, "out": named, "exit_code": code})
        return
    from c3sim.importers.traces import kernel_lines

    if out is None:
        typer.echo(lines, nl=False)
    for _, result in results:
        for line in kernel_lines(result):
            say(line)


def _summary(file: Path, result: Any) -> dict[str, Any]:
    from dataclasses import asdict

    kernels = [{**asdict(kernel), "slowdown": kernel.slowdown} for kernel in result.kernels]
    return {
        "file": str(file),
        "format": result.format,
        "records": len(result.records),
        "partial": result.partial,
        "warnings": list(result.warnings),
        "kernels": kernels,
        "overlaps": [asdict(each) for each in result.overlaps],
    }

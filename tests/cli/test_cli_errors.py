"""Bad input: one line that names file, line, path, value and what is allowed; exit code 2; nothing
written.
"""

from importlib.resources import files as packaged
from pathlib import Path

import pytest
from cli_case import PAIR, files

GEMM, GATHER = PAIR.splitlines()[3:5]
STREAMS = "streams: {{compute: {{compute_units: {}}}}}\n"
BITS = "bits are 0 to 303, as in '0-303'"

#: Mistake -> (text replaced, its replacement, the line printed).
WRONG = {
    "unknown field": (
        "dtype: bf16",
        "dtpye: bf16",
        "4: tasks.gemm: unknown field 'dtpye'; did you mean 'dtype'?",
    ),
    "missing unit": (
        "64 MiB",
        "64",
        "5: tasks.gather.size: 64 has no unit; append one that converts to B, as in '256 MiB'",
    ),
    "duplicate key": (
        "n: 4096",
        "m: 1, n: 4096",
        "4: tasks.gemm: field 'm' is given twice, first on line 4; each may be given once",
    ),
    "negative size": (
        "64 MiB",
        "-1 MiB",
        "5: tasks.gather.size: got '-1 MiB'; must be greater than 0",
    ),
    "zero size": ("64 MiB", "0 MiB", "5: tasks.gather.size: got '0 MiB'; must be greater than 0"),
    "half a byte": (
        "64 MiB",
        "1.5 B",
        "5: tasks.gather.size: '1.5 B' is 1.5 bytes; must come out as whole bytes, the "
        "nearest is '2 B'",
    ),
    "NaN": (
        "64 MiB",
        "nan MiB",
        "5: tasks.gather.size: 'nan MiB' is not finite; write a finite number and a unit, "
        "as in '256 MiB'",
    ),
    "NaN as a count": (
        "m: 4096",
        "m: .nan",
        "4: tasks.gemm.m: '.nan' is not a whole number; must be one, written in digits",
    ),
    "M = 0": ("m: 4096", "m: 0", "4: tasks.gemm.m: got 0; must be greater than 0"),
    "more channels than CUs": (
        "64 MiB",
        "64 MiB, channels: 400",
        "5: tasks.gather.channels: got 400; must be at most the 304 compute units",
    ),
    "empty mask": (
        GATHER,
        GATHER + "\n" + STREAMS.format('""'),
        f"6: streams.compute.compute_units: mask '' has no compute unit; {BITS}",
    ),
    "mask of no CU": (
        GATHER,
        GATHER + "\n" + STREAMS.format(0),
        "6: streams.compute.compute_units: got 0; must be greater than 0",
    ),
    "mask out of range": (
        GATHER,
        GATHER + "\n" + STREAMS.format("0-304"),
        f"6: streams.compute.compute_units: '0-304' in mask '0-304' is beyond the last "
        f"compute unit; {BITS}",
    ),
    "cycle": (
        "64 MiB",
        "64 MiB, after: [gemm]}\n  last: {kind: host, time: 1 us, after: [last]",
        "6: tasks.last: dependency cycle: 'last' waits for 'last'; tasks and streams must "
        "have an order",
    ),
    "cycle through a stream": (
        "dtype: bf16",
        'after: ["next.tiles[50%]"]}\n  next: {kind: gemm, stream: compute, m: 64, n: 64, k: 64',
        "4: tasks.gemm: dependency cycle: 'gemm' waits for 'next' waits for 'gemm'; tasks "
        "and streams must have an order",
    ),
    "chunk that never comes": (
        "dtype: bf16",
        'after: ["gather.chunk[1]"]',
        "4: tasks.gemm.after[0]: 'gather.chunk[1]': there is no such chunk; 'gather' has "
        "chunks 0 to 0",
    ),
    "tiles that never come": (
        "64 MiB",
        '64 MiB, after: ["gemm.tiles[101%]"]',
        "5: tasks.gather.after[0]: 'gemm.tiles[101%]': 101% of the tiles; must be more than "
        "0% and at most 100%",
    ),
    "word that nobody changes": (
        GATHER,
        "  dma: {kind: commands, program: [{op: poll, on: go}]}",
        "5: tasks.dma.program[0].on: unknown word 'go'; allowed: none",
    ),
    "atomic that comes too late": (
        GATHER,
        "  dma: {kind: commands, program: [{op: poll, on: go}, {op: atomic, on: go}]}",
        "5: tasks.dma.program[0]: polls for 'go' >= 1, which comes only after it, if at "
        "all; it would wait for ever",
    ),
    "operation of no engine": (
        GATHER,
        "  dma: {kind: commands, program: [{op: move, on: go}]}",
        "5: tasks.dma.program[0].op: unknown value 'move'; allowed: copy, broadcast, swap, "
        "reduce, poll, atomic, fence, timestamp",
    ),
    "a mapping for a kind": (
        GATHER,
        "  gather: {kind: {}, op: all_gather, size: 64 MiB}",
        "5: tasks.gather.kind: unknown value 'a mapping'; allowed: gemm, stream, kernel, stores, "
        "hold, collective, copy, commands, host",
    ),
    "truncated file": (
        GATHER,
        "  gather: {kind: coll",
        "6: not valid YAML: expected ',' or '}', but got '<stream end>'",
    ),
}

#: Where MI300X's file says what a compute unit has room for: its registers.
UNITS = (packaged("c3sim.hwmodels") / "mi300x.yaml").read_text(encoding="utf-8")
ROOM = UNITS[: UNITS.index("\n  registers:", UNITS.index("\ncompute_units:")) + 1].count("\n") + 1
FULL = f"mi300x.yaml:{ROOM}: deadlock:"


def refused(result, folder, left):
    """The one line on standard error; *left*: the files there were before."""
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("\n") and result.stderr.count("\n") == 1, result.stderr
    assert files(folder) == left
    return result.stderr.rstrip("\n")


@pytest.mark.parametrize("command", ["run", "explain", "compare"])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_files(cli, empty, what, command):
    old, new, message = WRONG[what]
    assert old in PAIR
    Path("bad.yaml").write_text(PAIR.replace(old, new, 1), encoding="utf-8")
    writing = ["--trace", "t.pftrace", "--plot", "p.png"] if command == "run" else []
    assert refused(cli(command, "bad.yaml", *writing), empty, ["bad.yaml"]) == f"bad.yaml:{message}"


def test_a_list_of_mistakes_is_a_line_each(cli, empty):
    Path("bad.yaml").write_text(
        PAIR.replace("64 MiB", "64").replace("bf16", "bf17"), encoding="utf-8"
    )
    lines = cli("run", "bad.yaml").stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["bad.yaml:4", "bad.yaml:5"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["gpus=1"], "tasks.gather: a collective on 1 GPU; needs a node of at least 2"),
        (
            ["task.gather.chanels=4"],
            "task.gather.chanels: unknown path 'task.gather.chanels'; did you mean "
            "'task.gather.channels'?",
        ),
        (["gpu.hbm=4"], "gpu.hbm: it is not one value; set one of its fields: capacity, bandwidth"),
        (
            ["task.gather.channels"],
            "--set: 'task.gather.channels' is not a setting; write PATH=VALUE, as in "
            "task.gather.channels=16",
        ),
        (
            ["task.gather.channels="],
            "--set: 'task.gather.channels=' is not a setting; write PATH=VALUE",
        ),
        (
            ["links.bandwidth={value: 1 GB/s"],
            "links.bandwidth: '{value: 1 GB/s' has '{' and no '}' at its end",
        ),
        (["gpus=4", "gpus=8"], "--set: 'gpus' is set twice, to '4' and '8'; set it once"),
        (
            ["links.bandwidth=96"],
            "links.bandwidth: 96 has no unit; append one that converts to B/s, as in '48 GB/s'",
        ),
        (["links.bandwidth=nan GB/s"], "links.bandwidth: 'nan GB/s' is not finite"),
        (
            ["links.latency=1e300 s"],
            "links.latency: got 1e+300 in SI units; must be 0, or of a size between 1e-30 "
            "and 1e+30",
        ),
        (
            ["gpu.dies.shader_engines=[]"],
            "gpu.dies.shader_engines: got []; needs at least 1 entries",
        ),
        (["task.gemm.m=0"], "task.gemm.m: got 0; must be greater than 0"),
        (
            ["stream.compute.compute_units=400"],
            "streams.compute.compute_units: mask of 400 compute units; must be 1 to 304",
        ),
        # Tasks that never can start: nothing in the workload is wrong, but no compute unit has
        # room.
        (
            ["collective_libraries.rccl.channels.lds=128 KiB"],
            f"{FULL} task 'gather' waits for a compute unit with room for its workgroups",
        ),
        (
            ["gpu.gemm_libraries.hipblaslt.waves=64"],
            f"{FULL} task 'gemm' waits for a compute unit with room for its workgroups",
        ),
        (
            ["gpu.compute_units.registers=2"],
            f"{FULL} task 'gemm' waits for a compute unit with room for its workgroups"
            " (gpu.compute_units: lds 65536 B, registers 2, waves ",
        ),
    ],
)
def test_wrong_settings(cli, pair, empty, settings, message):
    given = [part for setting in settings for part in ("--set", setting)]
    said = refused(cli("run", pair, *given, "--plot", "p.png"), empty, [pair])
    assert (said.partition("hwmodels/")[2] or said).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "gemm-allone"],
            "unknown workload 'gemm-allone'; did you mean 'gemm-alone'? ('c3sim list "
            "workloads' shows them)",
        ),
        (
            ["run", "missing.yaml"],
            "workload file 'missing.yaml' does not exist; give the path of a file, or a name",
        ),
        (
            ["run", "pair.yaml", "--node", "mi300-8"],
            "unknown node 'mi300-8'; did you mean 'mi300x-8'? ('c3sim list nodes' shows them)",
        ),
        (
            ["run", "pair.yaml", "--strategy", "concl"],
            "unknown strategy 'concl'; did you mean 'conccl'?",
        ),
        (
            ["run", "pair.yaml", "--strategy", "rp:400"],
            "strategy 'rp:400': '400' compute units; must be 1 to 303, as in 'rp:32'",
        ),
        (
            ["compare", "pair.yaml", "--strategies", "base,spp"],
            "unknown strategy 'spp'; did you mean 'sp'?",
        ),
        (["compare", "pair.yaml", "--strategies", ""], "unknown strategy ''; allowed: "),
        (
            ["explain", "pair.yaml", "--strategy", "conccl_rb"],
            "unknown strategy 'conccl_rb'; did you mean 'conccl_rp'?",
        ),
        (
            ["show", "mi300x-9"],
            "unknown name 'mi300x-9'; did you mean 'mi300x-8'? ('c3sim list' shows all)",
        ),
        (["show", "missing.yaml"], "workload file 'missing.yaml' does not exist"),
        (["schema", "nod"], "unknown kind of file 'nod'; did you mean 'node'?"),
        (
            ["run", "pair.yaml", "--plot", "none/p.png"],
            "none/p.png: cannot write: no such file or directory; allowed: a file in an "
            "existing, writable folder",
        ),
        (["run", "pair.yaml", "--trace", "."], ".: cannot write: is a folder"),
        (["run", "pair.yaml", "--trace", "t", "--plot", "none/p.png"], "none/p.png: cannot write"),
        (
            ["run", "pair.yaml", "--plot", "p.jpg"],
            "p.jpg: unknown suffix '.jpg'; allowed: .png, .svg, .pdf, .html, .htm",
        ),
        (
            ["run", "pair.yaml", "--plot", "p.png", "--trace", "p.png"],
            "p.png: --plot: trace and picture would be the same file",
        ),
    ],
)
def test_wrong_arguments(cli, pair, empty, arguments, message):
    assert refused(cli(*arguments), empty, [pair]).startswith(message)


def test_an_output_that_cannot_be_written_is_told_before_the_work(cli, pair, monkeypatch):
    monkeypatch.setattr("c3sim.api.run", lambda *_, **__: pytest.fail("the work began"))
    assert cli("run", pair, "--plot", "none/p.png").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["nothing"],
        ["run", "x", "--nothing"],
        ["list", "lists"],
        ["study", "conccl", "--jobs", "0"],
    ],
)
def test_wrong_usage_is_exit_code_2_without_a_traceback(cli, arguments):
    result = cli(*arguments)
    assert result.exit_code == 2 and "Usage: " in result.stderr and "Traceback" not in result.stderr

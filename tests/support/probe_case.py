"""A probe that is a small script: what each of its commands does is as simple as its name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from made_records import GEMM, line

SCRIPT = """#!{python}
import json, os, signal, sys, time
RECORD = json.loads({record!r})
MACHINE = json.loads({machine!r})


def record():
    given = dict(zip(sys.argv, sys.argv[1:]))
    made = dict(RECORD, suite=given["--suite"], role=given["--role"], source=given["--source"],
                revision=given["--revision"], command=" ".join(sys.argv))
    print(json.dumps(made), flush=True)


what = sys.argv[1]
if what == "machine":
    print(json.dumps(MACHINE))
elif what == "stream":
    print("footprint 1 of 1", file=sys.stderr)
    record()
    record()
elif what == "wrong":
    record()
    print('{{"schema": 1, "id"')
    record()
elif what == "foreign":
    print(json.dumps(RECORD))
elif what == "crash":
    record()
    print("before the fall", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
elif what == "fail":
    print("no device", file=sys.stderr)
    sys.exit(3)
elif what == "sleep":
    record()
    print("still at it", file=sys.stderr, flush=True)
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("child", "w").write(str(os.getpid()))
    time.sleep(600)
elif what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
elif what == "interrupt":
    record()
    os.kill(os.getppid(), getattr(signal, sys.argv[2]))
    time.sleep(600)
elif what == "nothing":
    print("nothing to measure", file=sys.stderr)
elif what == "cut":
    record()
    sys.stdout.write(json.dumps(RECORD)[:40])
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
elif what == "flood":
    for number in range(3000):
        print("x" * 100, file=sys.stderr)
    record()
else:
    sys.exit(9)
"""


def record_line(**changes: object) -> dict[str, object]:
    """The record that the fake probe prints, but for what the command line says."""
    made = line(
        {"gemm": GEMM}, {"isolated": {"gemm": 250.0}}, suite="never asked for", node="mine-2"
    )
    return {**made, **changes}


def fake_probe(folder: Path, gpus: int = 2, machine: str = "") -> Path:
    """The script, executable."""
    file = folder / "fake probe"
    described = machine or json.dumps(
        {"gpus": [{"name": "Fake", "pci": f"0000:0{i}"} for i in range(gpus)]}
    )
    text = SCRIPT.format(python=sys.executable, record=json.dumps(record_line()), machine=described)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file


def plan_file(folder: Path, *commands: str, name: str = "plan.yaml", **fields: object) -> Path:
    """A plan with a step per command, named after its first word."""
    steps = [
        {"name": text.split()[0], "role": "calibration", "command": text, **fields}
        for text in commands
    ]
    file = folder / name
    file.write_text(
        json.dumps({"name": "mine", "description": "a test", "minutes": 1, "steps": steps}),
        encoding="utf-8",
    )
    return file

"""The command: its port, its link, its end, and what it says without the extra."""

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from kineto_case import MadeTrace

import c3sim
from c3sim.cli.lab import is_trace, workload_of
from c3sim.errors import InputError
from c3sim.lab.serve import free_port

pytestmark = pytest.mark.turns(5)


def test_it_ends_with_a_line_and_no_traceback(start):
    process, link = start()
    with urllib.request.urlopen(link) as page:
        assert page.status == 200
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.split("?")[0])
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=20) == 0 and time.monotonic() - begin < 15
    assert said.splitlines() == [
        "only this computer can open it; end it with Ctrl-C",
        "c3sim lab: ended",
    ]


def test_a_port_that_is_taken_is_said_and_another_one_found():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is taken"):
            free_port(port)
        assert free_port(None) != port


def test_a_trace_becomes_a_workload_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("made.json").write_text(MadeTrace.short().text(), encoding="utf-8")
    Path("workload.json").write_text('{"schema": 1, "name": "w"}', encoding="utf-8")
    assert is_trace("made.json") and not is_trace("workload.json") and not is_trace("c3-pair")
    with pytest.raises(InputError, match="--node"):
        workload_of("made.json", None)
    opened = workload_of("made.json", "h200-2")
    assert opened == "made.yaml" and len(c3sim.run(opened).tasks) == 8
    with pytest.raises(InputError, match="is there already"):
        workload_of("made.json", "h200-2")


def test_without_the_extra_one_line_says_what_to_install():
    script = (
        "import sys; sys.modules['nicegui'] = None; from c3sim.cli import main;"
        " sys.argv[1:] = ['lab', '--no-browser']; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "c3sim lab needs NiceGUI; install it with: pip install 'c3sim[lab]'\n"

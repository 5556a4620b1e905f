"""The command: its port, its link, its end, and what it says without the extra."""

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from c3sim.errors import InputError
from c3sim.lab.serve import free_port


def test_it_ends_with_a_line_and_no_traceback(start):
    process, link = start()
    with urllib.request.urlopen(link) as page:
        assert page.status == 200
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.split("?")[0])
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=20) == 0 and time.monotonic() - begin < 10
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


def test_without_the_extra_one_line_says_what_to_install():
    script = (
        "import sys; sys.modules['nicegui'] = None; from c3sim.cli import main;"
        " sys.argv[1:] = ['lab', '--no-browser']; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "c3sim lab needs NiceGUI; install it with: pip install 'c3sim[lab]'\n"

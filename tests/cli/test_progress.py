"""A bar stays on the screen at its end, with how long it took; a log says how much is left."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys

import pytest

from medebench.cli import console


def frames(*words):
    """What a terminal of 100 columns is sent, line by line; the last of them stay."""
    import fcntl
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command = [sys.executable, "-m", "medebench", *map(str, words)]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    said = b""
    try:
        while piece := os.read(master, 65536):
            said += piece
    except OSError:
        pass
    os.close(master)
    assert process.wait() == 0, said
    plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", said).decode()
    return [line for line in re.split(r"[\r\n]+", plain) if line]


@pytest.mark.skipif(os.name != "posix", reason="terminals")
def test_bars_end_at_their_end(small_set, tmp_path):
    run = tmp_path / "run"
    for words, title in (
        (["edit", small_set, "--editor", "noise", "--out", run], "editing with noise"),
        (["score", run, "--metrics", "cp"], "scoring"),
        (["report", run, "--out", tmp_path / "report"], ""),
    ):
        bars = [line for line in frames(*words) if re.search(r"\d+% \d+/\d+ ", line)]
        assert bars and title in bars[-1]
        assert re.search(r"100% (\d+)/\1 \d+:\d\d:\d\d", bars[-1]), bars[-1]


def test_a_log_says_how_much_is_left_and_that_it_ended(monkeypatch, capsys):
    monkeypatch.setattr(console, "LOG_SECONDS", 0.0)
    moments = iter([0.0, 0.0, 30.0, 60.0, 120.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(moments))
    with console.progress_bar("scoring") as tell:
        for done in (0, 1, 2, 4):
            tell(done, 4)
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 0 of 4",
        "scoring: 1 of 4, about 2 minutes left",
        "scoring: 2 of 4, about 1 minute left",
        "scoring: 4 of 4",
    ]


def test_time_left():
    told = [console.time_left(seconds) for seconds in (0, 40, 61, 7300)]
    about = [f", about {much} left" for much in ("2 minutes", "2 h 2 min")]
    assert told == ["", ", less than a minute left", *about]

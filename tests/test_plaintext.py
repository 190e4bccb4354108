"""Foreign text never acts on a terminal: not what is printed, not what is kept as a reason."""

from __future__ import annotations

import ast
import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import medebench as mb
from medebench.cli import console
from medebench.errors import InputError, one_line
from medebench.models.secret import Scrubber, Secret
from medebench.plaintext import clean, escaped
from tests.cli.test_cli import call
from tests.conftest import REPOSITORY
from tests.models.server import FakeServer
from tests.patience import PATIENCE

#: Colour, the screen cleared, the window renamed, a link, the clipboard written, 8-bit forms, a
#: reset, a line written over, the direction turned, a bell.
NASTY = (
    "\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1H \x1b]0;owned\x07 "
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \x1b]52;c;ZXZpbA==\x07 \x9b31m\x9d0;owned\x9c "
    "\x1bc over\rwritten \u202eevil\u2066 \x07\x08\x7f"
)
FORBIDDEN = set(map(chr, [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F)]))
FORBIDDEN |= set(map(chr, range(0x2066, 0x206A)))
MARKUP = "[red]x[/red] [/] [bold :smile:"


def is_harmless(text: str) -> bool:
    return not FORBIDDEN & set(text)


@given(st.text(alphabet=st.characters() | st.sampled_from(NASTY + "[]();?\\\ud800"), max_size=80))
def test_nothing_is_left_that_a_terminal_obeys(text):
    found = clean(text)
    assert is_harmless(found) and clean(found) == found
    found.encode()
    assert is_harmless(one_line(text)) and "\n" not in one_line(text)
    # Machines get all of it.
    told = escaped(json.dumps([text], ensure_ascii=False))
    assert is_harmless(told) and json.loads(told) == [text]


@given(st.text(st.characters(exclude_categories=["C"]), max_size=80))
def test_words_stay_as_they_are(text):
    assert clean(text) == text.replace("\u2028", "\n").replace("\u2029", "\n")


def test_long_text_of_openers_takes_no_longer_than_its_length():
    for opener in ("\x1b[", "\x1b]", "\x90", "\x9b", "\x1b", "\x1b[0;"):
        assert is_harmless(clean(opener * 200_000))


def test_an_error_carries_no_sequences():
    assert is_harmless(str(InputError(f"{NASTY}: no such file")))


def test_a_secret_in_pieces_is_found():
    scrub = Scrubber([Secret("very-secret-key")])
    assert "secret" not in scrub("very-\x1b[0msecret-\u202ekey")


WORKER = """
import json, sys
print(json.dumps({"ready": True, "name": NASTY, "identity": NASTY}), flush=True)
for line in sys.stdin:
    task = json.loads(line)
    if task["id"] == "1":
        answer = {"refused": NASTY + MARKUP}
    elif task["id"] == "2":
        sys.stderr.write(NASTY + "\\n")
        sys.exit(3)
    else:
        answer = {"done": True, "detail": {"x": NASTY}}
        open(task["output"], "wb").write(open(task["image"], "rb").read())
    print(json.dumps({"id": task["id"], "k": task["k"], **answer}), flush=True)
"""


@pytest.fixture
def worker(tmp_path) -> str:
    path = tmp_path / "worker.py"
    path.write_text(WORKER.replace("NASTY", ascii(NASTY)).replace("MARKUP", ascii(MARKUP)))
    return f"command:timeout={PATIENCE:g},{shlex.join([sys.executable, str(path)])}"


def test_a_worker_cannot_reach_the_terminal(small_set, tmp_path, worker):
    name = tmp_path / "[red]run[bold]"
    done = call("edit", small_set, "--editor", worker, "--out", name)
    assert done.exit_code == 1 and is_harmless(done.output)
    assert "[red]x[/red] [/] [bold :smile:" in done.stderr and "red " in done.stderr
    with mb.open_run(name).ledger() as ledger:
        rows = ledger.outputs()
    assert all(is_harmless(row.reason) for row in rows.values() if row.reason)
    assert all(is_harmless(line) for row in rows.values() for line in row.detail.get("stderr", []))
    told = call("edit", small_set, "--editor", worker, "--out", name, "--json")
    assert is_harmless(told.output) and len(json.loads(told.stdout)["reasons"]) == 2
    done = call("score", name, "--metrics", "cp")
    assert is_harmless(done.output) and "[red]run[bold]: 2 of 4 scores" in done.stdout
    done = call("ground", name)
    assert is_harmless(done.output) and "[red]run[bold]" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="terminals")
def test_on_a_terminal(small_set, tmp_path, worker):
    """What a real terminal is sent: the bar's own sequences, none of the worker's."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "medebench", "edit", str(small_set), "--editor", worker]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "[run]")], stdout=slave, stderr=slave, close_fds=True
    )
    os.close(slave)
    said = b""
    try:
        while piece := os.read(master, 65536):
            said += piece
    except OSError:
        pass
    os.close(master)
    assert process.wait() == 1
    assert b"2 outputs" in said
    for sent in (b"\x1b[31mred", b"\x1b[2J", b"\x1b]", b"\x1bc", b"\xc2\x9b", b"\xe2\x80\xae"):
        assert sent not in said


@pytest.mark.parametrize("behaviour", ["answer", "400"])
def test_a_model_cannot_reach_the_terminal(small_set, tmp_path, behaviour, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    call("edit", small_set, "--editor", "noise", "--out", tmp_path / "run")
    score = {"reason": NASTY, "score": 7}
    opinion = {"differences": [NASTY], "editing_accuracy": score, "visual_quality": score}
    with FakeServer(answer=lambda _: json.dumps(opinion)) as server:
        if behaviour == "400":
            server.plan = lambda _: "400"
            monkeypatch.setattr("tests.models.server._error", lambda *_: {"error": NASTY + MARKUP})
        words = ["--judge", "openai:test", "--base-url", server.base_url("openai")]
        done = call("score", tmp_path / "run", "--metrics", "cp", *words)
    assert is_harmless(done.output) and done.exit_code == (behaviour == "400")
    if behaviour == "400":
        assert "red link over written evil [red]x[/red]" in " ".join(done.stderr.split())
    with mb.open_run(tmp_path / "run").ledger() as ledger:
        for row in ledger.scores():
            assert is_harmless(json.dumps([row.reason, row.detail], ensure_ascii=False))


def test_markup_in_a_title_or_a_cell_is_text(capsys, monkeypatch):
    from rich.table import Table

    table = Table("name", title=MARKUP)
    table.add_row(MARKUP + NASTY)
    console.print_table(table)
    shown = capsys.readouterr().out
    assert shown.count(MARKUP) == 2 and is_harmless(shown)
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    with console.progress_bar(f"editing with {MARKUP}{NASTY}") as progress:
        progress(0, 2)
        progress(1, 2)


def test_warnings_and_logs_are_readable():
    script = (
        "import logging, warnings; from medebench.cli.console import log_readably; log_readably(); "
        f"logging.getLogger('x').warning('said %s', {NASTY!a}); warnings.warn({NASTY!a})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    said = done.stderr.decode()
    assert is_harmless(said) and said.count("red ") >= 2


def test_commands_print_through_one_place():
    """Else the next command forgets."""
    own = {"echo", "secho", "print"}
    for path in sorted((REPOSITORY / "src" / "medebench" / "cli").glob("*.py")):
        if path.name == Path(console.__file__).name:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                assert name not in own | {"Console"}, f"{path.name}:{node.lineno}: {name}"

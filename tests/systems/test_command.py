"""`command:` with real worker processes, well-behaved and otherwise."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medebench as mb
from medebench.cases.case import Case
from medebench.errors import InputError, NotReadyError
from medebench.images.picture import encode_png, read_picture
from medebench.systems import NotTried, Refused, Request, find_system
from medebench.systems.external.command_editor import CommandEditor
from medebench.systems.external.external_settings import CommandSettings
from medebench.workers.descendants import end_all, marked
from tests.conftest import REPOSITORY, draw, write_set
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")

WORKERS = Path(__file__).parent / "workers"
ODD = WORKERS / "odd.py"
EXAMPLES = REPOSITORY / "docs" / "examples"
#: Workers of the standard library start fast without the site packages.
PYTHON = shlex.join([sys.executable, "-S", "-E"])


HELD_OPEN = ("child", "closes-output", "closes-input")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where workers' files go; nothing may be left there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CommandEditor]]:
    """A worker with a habit; at the end, none of those started may be there any more."""
    record = tmp_path / "started"
    made: list[CommandEditor] = []

    def make(mode: str, python: str = PYTHON, argument: str = "", **settings: Any) -> CommandEditor:
        # Its last words are waited for, which have no end where somebody holds the pipe open.
        settle = 1.0 if mode in HELD_OPEN else 30.0
        monkeypatch.setattr("medebench.workers.worker_process._SETTLE", settle)
        words = [*shlex.split(python), str(ODD), mode, argument or str(record)]
        given = {"timeout": PATIENCE, "start_timeout": PATIENCE, **settings}
        made.append(CommandEditor(CommandSettings(command=shlex.join(words), **given)))
        return made[-1]

    yield make
    for editor in made:
        editor.close()
    assert [pid for pid in started(tmp_path) if is_running(pid)] == []


def started(tmp_path: Path) -> list[int]:
    record = tmp_path / "started"
    return [int(line) for line in record.read_text().split()] if record.exists() else []


def is_running(pid: int) -> bool:
    """A zombie, which only waits to be counted, does not run."""
    try:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
        ).stdout.strip()
    except FileNotFoundError:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
    return bool(state) and not state.startswith("Z")


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Request]:
    def make(case_id: str = "1", k: int = 0, picture: Any = None, **words: Any) -> Request:
        path = tmp_path / f"case-{case_id}.png"
        path.write_bytes(encode_png(draw(3) if picture is None else picture))
        case = Case(case_id, path, words.pop("prompt", "Remove the scar."), **words)
        return Request(mb.open_case(case), k, seed=5)

    return make


def refusal(editor: Any, request: Request) -> Refused:
    with pytest.raises(Refused) as caught:
        editor.edit(request)
    return caught.value


# What a run makes of it.


def test_a_worker_that_crashes_and_hangs_costs_exactly_those_cases(tmp_path, make_set):
    cases = make_set(40)
    record = tmp_path / "started"
    call = f"command:timeout=12,{PYTHON} {ODD} sometimes {record}"
    run = mb.edit(cases, call, out=tmp_path / "run")
    with run.ledger() as ledger:
        outputs = ledger.outputs()
    assert len(outputs) == 40
    failed = {int(case): row for (case, _), row in outputs.items() if row.reason is not None}
    assert sorted(failed) == [10, 20, 30, 40]
    for number, row in failed.items():
        if number % 30 == 0:
            assert row.reason == "the worker failed: no answer in 12 s: thinking hard"
        else:
            assert row.reason == "the worker failed: it ended with exit code 3: KeyError: 'organ'"
            assert "Traceback (most recent call last):" in row.detail["stderr"]
    for (case, k), row in outputs.items():
        if row.reason is None:
            made = read_picture(run.output_path(case, k))
            assert (made == draw(int(case))).all()
    assert len(started(tmp_path)) == 4, "the last failed, and nothing came after it"
    assert not any(map(is_running, started(tmp_path)))


def test_an_editor_in_an_environment_of_its_own(tmp_path, make_set, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    cases = make_set(4)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"],
        check=True,
        timeout=PATIENCE,
    )
    python = tmp_path / "venv" / "bin" / "python"
    worker = WORKERS / "inverting.py"
    call = f"command:timeout=600,{python} {worker} --not-in {sys.prefix}"
    run = mb.edit(cases, call, out=tmp_path / "run", outputs=2)
    with run.ledger() as ledger:
        outputs = ledger.outputs()
    assert len(outputs) == 8
    for (case, k), row in outputs.items():
        assert row.reason is None
        assert (read_picture(run.output_path(case, k)) == 255 - draw(int(case))).all()
        assert row.detail["worker"] == {"name": "inverting", "identity": str(tmp_path / "venv")}
        assert row.detail["said"]["instruction"] == f"Remove the mole number {case}."
        assert row.detail["said"]["seed"] == row.seed
    assert run.info.settings["command"] == f"{python} {worker} --not-in {sys.prefix}"
    assert run.info.how["timeout"] == 600
    assert re.fullmatch(r"inverting\.py [0-9a-f]{16}", run.info.origin)


def test_a_run_continues_with_another_timeout_but_not_with_another_script(tmp_path, make_set):
    cases, script = make_set(2), tmp_path / "own.py"
    script.write_text((WORKERS / "inverting.py").read_text())
    mb.edit(cases, f"command:{PYTHON} {script}", out=tmp_path / "run")
    mb.edit(cases, f"command:timeout=600,{PYTHON} {script}", out=tmp_path / "run")
    script.write_text(script.read_text() + "\n# changed\n")
    with pytest.raises(InputError, match=r"origin is 'own\.py"):
        mb.edit(cases, f"command:{PYTHON} {script}", out=tmp_path / "run")


def test_a_worker_that_cannot_start_leaves_no_run_behind(tmp_path, make_set):
    call = f"command:{PYTHON} {ODD} dies-at-start {tmp_path / 'started'}"
    with pytest.raises(NotReadyError, match="exit code 7: RuntimeError: no weights here"):
        mb.edit(make_set(2), call, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert len(started(tmp_path)) == 3


def test_several_workers_share_the_cases(tmp_path, make_set):
    call = f"command:workers=3,{PYTHON} {ODD} well {tmp_path / 'started'}"
    assert find_system(call).system.at_once == 3
    run = mb.edit(make_set(24), call, out=tmp_path / "run")
    with run.ledger() as ledger:
        outputs = ledger.outputs()
    assert len(outputs) == 24 and all(row.reason is None for row in outputs.values())
    for case, k in outputs:
        assert (read_picture(run.output_path(case, k)) == draw(int(case))).all()
    assert 1 <= len(started(tmp_path)) <= 3
    assert not any(map(is_running, started(tmp_path)))


# What the worker is told.


def test_what_the_worker_is_told(tmp_path, ask):
    script = tmp_path / "echo.py"
    script.write_text(
        "import json, os, sys\n"
        "print(json.dumps({'ready': True}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    case = json.loads(line)\n"
        "    here = sorted(os.listdir(os.path.dirname(case['image'])))\n"
        "    mode = os.stat(os.path.dirname(os.path.dirname(case['image']))).st_mode & 0o777\n"
        "    os.link(case['demonstrations'][0]['after'], case['output'])\n"
        "    detail = {'told': case, 'here': here, 'mode': mode, 'cwd': os.getcwd()}\n"
        "    print(json.dumps({'id': case['id'], 'k': case['k'], 'done': True,\n"
        "                      'detail': detail}), flush=True)\n"
    )
    root = write_set(tmp_path / "shown", 2)
    shown = tuple(mb.open_case(case) for case in mb.load_cases(root))
    prompt = 'Entferne die Narbe “schnell”,\nthen "stop" 🩻'
    request = ask("a b", 2, prompt=prompt, organ="Skin", task="Remove scars")
    request = Request(request.case, 2, 2**62 + 1, demonstrations=shown)
    settings = CommandSettings(
        command=f"{PYTHON} ../echo.py", folder=str(root), options={"size": 64}, demonstrations=2
    )
    editor = CommandEditor(settings)
    assert editor.demonstrations == 2 and editor.problems() == []
    made = editor.edit(request)
    editor.close()
    assert (made.image == shown[0].reference).all()
    said = made.detail["said"]
    told = said["told"]
    assert said["mode"] == 0o700
    assert said["cwd"] == str(root.resolve())
    assert said["here"] == [
        "after_1.png",
        "after_2.png",
        "before_1.png",
        "before_2.png",
        "input.png",
    ]
    pictures = {"image", "output", "demonstrations"}
    assert {key: value for key, value in told.items() if key not in pictures} == {
        "medebench": 1,
        "id": "a b",
        "k": 2,
        "seed": 2**62 + 1,
        "instruction": prompt,
        "range": 255,
        "settings": {"size": 64},
    }
    assert [one["instruction"] for one in told["demonstrations"]] == [
        "Remove the mole number 1.",
        "Remove the mole number 2.",
    ]


def test_sixteen_bits_go_there_and_come_back(ask):
    deep = draw(4).astype(np.uint16) * 257 - 100
    editor = CommandEditor(CommandSettings(command=f"{PYTHON} {WORKERS / 'inverting.py'}"))
    made = editor.edit(ask(picture=deep)).image
    grey = np.repeat(deep[..., :1], 3, axis=2)
    of_grey = editor.edit(ask("2", picture=grey)).image
    editor.close()
    assert made.dtype == np.uint16 and (made == 65535 - deep).all()
    assert of_grey.dtype == np.uint16 and (of_grey == 65535 - grey).all()


def test_the_template_works_as_it_stands(ask):
    editor = CommandEditor(CommandSettings(command=f"{sys.executable} {EXAMPLES / 'worker.py'}"))
    made = editor.edit(ask())
    deep = editor.edit(ask("2", picture=draw(3).astype(np.uint16)[..., [0, 0, 0]] * 257))
    editor.close()
    assert (made.image == draw(3)).all()
    assert (deep.image == draw(3)[..., [0, 0, 0]]).all()
    assert made.detail["worker"] == {"name": "my-model", "identity": "checkpoint of 1 May"}


# Answers that are none.


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("refuses", "not a picture I can edit"),
        ("refuses-without-words", "the worker refused without a reason"),
        ("half-characters", "odd ? text"),
        ("no-file", "the worker said it was done, but wrote no picture"),
        ("empty-file", "the worker's picture: empty file"),
        ("truncated", "the worker's picture: damaged or truncated image (.*)"),
        ("not-a-picture", "the worker's picture: not an image (.*)"),
        ("outside", "the worker's output lies outside the folder it was given"),
        ("link-outside", "the worker's output lies outside the folder it was given"),
        ("strange-output", "the worker's answer names no path as its output"),
        ("folder-output", "the worker said it was done, but wrote no picture"),
        ("pipe-output", "the worker said it was done, but wrote no picture"),
        ("not-done", "the worker's answer says neither done nor refused"),
    ],
)
def test_an_answer_without_a_picture_is_a_reason(odd, ask, tmp_path, mode, reason):
    editor = odd(mode)
    first, second = refusal(editor, ask("1")), refusal(editor, ask("2"))
    pattern = re.escape(reason).replace(r"\(\.\*\)", r"\(.*\)").replace(r"\?", ".")
    assert re.fullmatch(pattern, str(first)) and str(first) == str(second)
    assert len(started(tmp_path)) == 1, "the worker is well and stays"


def test_what_a_refusing_worker_adds_is_kept(odd, ask):
    assert refusal(odd("refuses"), ask()).detail == {"said": {"score": None}}


def test_a_detail_too_long_is_not_kept(odd, ask):
    assert re.match("a detail of 100,.*too long", odd("huge-detail").edit(ask()).detail["said"])


def test_an_answer_of_another_size(odd, ask):
    python = sys.executable
    made = odd("sized", python, "128x96").edit(ask())
    assert made.image.shape == (48, 64, 3) and made.detail == {"returned": [128, 96]}
    refused = refusal(odd("sized", python, "300x200"), ask())
    assert str(refused) == "returned 300 x 200 for a picture of 64 x 48"
    assert refused.detail == {"returned": [300, 200]}


# Workers that fail.


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("killed", r"it was ended by SIGKILL \(out of memory\?\)"),
        ("flood", "it wrote a line of more than 1,048,576 bytes"),
        ("closes-output", "it closed its standard output"),
        ("closes-input", "it closed its standard input"),
        ("garbage", r"no answer in 3 s \(on standard output: \{.*tru\)"),
        ("wrong-id", r"no answer in 3 s \(it answered for 'another'\)"),
        ("deaf", "no answer in 3 s"),
    ],
)
def test_a_worker_that_fails_is_replaced(odd, ask, tmp_path, mode, reason, monkeypatch):
    monkeypatch.setattr("medebench.workers.worker_process.GRACE", 0.3)
    editor = odd(mode, timeout=3 if reason.startswith("no answer") else PATIENCE)
    editor.prepare()
    refused = refusal(editor, ask())
    assert re.fullmatch(f"the worker failed: {reason}", str(refused))
    wait_until(lambda: not any(map(is_running, started(tmp_path))))
    editor.prepare()
    assert len(started(tmp_path)) == 2


def test_a_worker_that_never_reads_times_out_though_the_pipe_is_full(odd, ask):
    editor = odd("never-reads", timeout=0.7)
    editor.prepare()
    refused = refusal(editor, ask(prompt="long " * 100_000))
    assert str(refused) == "the worker failed: no answer in 0.7 s"


def test_a_worker_that_dies_takes_its_children_along(odd, ask, tmp_path):
    assert "exit code 4" in str(refusal(odd("child"), ask()))
    worker, child = started(tmp_path)
    wait_until(lambda: not is_running(child))
    assert not is_running(worker)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system has no /proc")
@pytest.mark.parametrize("mode", ["away-child", "away-grandchild", "away-and-dead"])
def test_children_that_left_the_group_are_ended_too(odd, ask, tmp_path, mode):
    editor, stranger = odd(mode), subprocess.Popen(["sleep", "900"], start_new_session=True)
    try:
        if mode == "away-and-dead":
            assert "exit code 4" in str(refusal(editor, ask()))
        else:
            editor.edit(ask())
            assert all(map(is_running, started(tmp_path)))
            editor.close()
        assert len(started(tmp_path)) == 2
        wait_until(lambda: not any(map(is_running, started(tmp_path))))
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system has no /proc")
def test_the_outer_worker_takes_the_inner_ones_along():
    outer, environment = marked({"A": "b"})
    inner, environment = marked(environment)
    process = subprocess.Popen(["sleep", "900"], env=environment)
    end_all("0" * 32)
    assert process.poll() is None and environment["A"] == "b" and outer != inner
    end_all(outer)
    assert process.wait(PATIENCE) == -signal.SIGKILL


def test_a_worker_that_ended_between_two_cases_is_started_anew(odd, ask, tmp_path):
    editor = odd("ends-after")
    for number in ("1", "2"):
        editor.edit(ask(number))
        wait_until(lambda: not is_running(started(tmp_path)[-1]))
    assert len(started(tmp_path)) == 2


@pytest.mark.parametrize("mode", ["chatty", "endless-line"])
def test_a_worker_may_write_as_much_as_it_likes(odd, ask, mode):
    editor = odd(mode)
    assert (editor.edit(ask()).image == draw(3)).all()
    assert (editor.edit(ask("2")).image == draw(3)).all()


def test_prints_of_libraries_are_a_log(odd, ask, caplog):
    with caplog.at_level(logging.DEBUG, "medebench.worker"):
        assert (odd("prints").edit(ask()).image == draw(3)).all()
    assert "loading 1 of 3" in caplog.text and "[1, 2]" in caplog.text


@pytest.mark.parametrize("mode", ["late", "twice"])
def test_answers_for_other_cases_are_ignored_with_a_note(odd, ask, mode, caplog):
    editor = odd(mode)
    with caplog.at_level(logging.INFO, "medebench.worker"):
        for number in ("1", "2"):
            assert (editor.edit(ask(number)).image == draw(3)).all()
    assert "ignored what is no answer for case 2 (0): " in caplog.text


def test_keys_that_a_worker_prints_are_not_kept(odd, ask, monkeypatch):
    from medebench.workers import output_tail

    monkeypatch.setenv("SOME_API_KEY", "very-secret-value-123")
    output_tail._scrubber.cache_clear()
    refused = refusal(odd("tells-secrets"), ask())
    output_tail._scrubber.cache_clear()
    assert str(refused) == "the worker failed: it ended with exit code 5: my key is ***"
    assert "very-secret" not in json.dumps(refused.detail)


# Workers that do not start.


def test_after_three_starts_that_failed_nothing_more_is_tried(odd, ask, tmp_path):
    editor = odd("dies-at-start")
    for number in ("1", "2", "3"):
        with pytest.raises(NotTried, match="does not start: it ended with exit code 7: Runtime"):
            editor.edit(ask(number))
    assert len(started(tmp_path)) == 3


def test_a_worker_that_does_not_come_back_leaves_the_rest_untried(tmp_path, make_set):
    script = tmp_path / "once.py"
    script.write_text(
        "import json, os, shutil, sys\n"
        f"mark = {str(tmp_path / 'mark')!r}\n"
        "if os.path.exists(mark): sys.exit('the card is gone')\n"
        "open(mark, 'w').close()\n"
        "print(json.dumps({'ready': True}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    case = json.loads(line)\n"
        "    if case['id'] == '3': os._exit(1)\n"
        "    shutil.copy(case['image'], case['output'])\n"
        "    print(json.dumps({'id': case['id'], 'k': 0, 'done': True}), flush=True)\n"
    )
    with pytest.raises(mb.MedebenchError, match=r"2 outputs were not tried.*the card is gone"):
        mb.edit(make_set(5), f"command:{PYTHON} {script}", out=tmp_path / "run")
    with mb.open_run(tmp_path / "run").ledger() as ledger:
        outputs = ledger.outputs()
    assert {case: row.reason for (case, _), row in outputs.items()} == {
        "1": None,
        "2": None,
        "3": "the worker failed: it ended with exit code 1",
    }


def test_a_start_that_fails_is_tried_again(odd, ask, tmp_path):
    assert (odd("late-ready").edit(ask()).image == draw(3)).all()
    assert len(started(tmp_path)) == 3


def test_a_worker_that_is_never_ready_is_waited_for_once(odd, tmp_path):
    for seconds in (0.5, 4, 32):  # one that was ended before it ran a line has left no trace
        with pytest.raises(NotReadyError, match=re.escape(f"not ready in {seconds:g} s")):
            odd("never-ready", start_timeout=seconds).prepare()
        if started(tmp_path):
            break
    assert len(started(tmp_path)) == 1


def test_another_version_of_the_protocol_is_named(odd):
    with pytest.raises(NotReadyError, match="speaks version 3 of the protocol, not 1 or 2"):
        odd("other-version", max_restarts=1).prepare()


# Before anything is started.


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("no-such-program-here worker.py", "no-such-program-here: not found; install it"),
        ("./missing/python worker.py", "./missing/python: no such program; check the path"),
        (f"{sys.executable} -u missing.py --size 5", "missing.py: no such file; check the path"),
        ("folder=/no/such,python", "/no/such: no such folder"),
        (f"{ODD} well", "odd.py: may not be run; use chmod"),
    ],
)
def test_what_is_missing_is_told_before_any_work(call, words, make_set, tmp_path):
    chosen = find_system(f"command:{call}")
    assert words in chosen.system.problems()[0]
    with pytest.raises(NotReadyError, match=re.escape(words)):
        mb.edit(make_set(1), f"command:{call}", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_modules_and_code_are_no_missing_scripts():
    assert find_system(f"command:{sys.executable} -m own.worker.py x.py").system.problems() == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("command", "name a command, such as 'command:"),
        ("command:timeout=5", "name a command, such as 'command:"),
        ("command:timeout=0,python x.py", "timeout: Input should be greater than 0"),
        ("command:python 'x.py", "command: Value error, cannot be split into words"),
        ("command: ", "command: Value error, expected a program"),
        ("command:options=x,python x.py", "options: Value error, expected JSON"),
    ],
)
def test_mistakes_in_the_call_are_named(call, words):
    with pytest.raises(InputError, match=re.escape(words)):
        find_system(call)


def test_the_command_may_hold_anything():
    settings = find_system('command:options={"a":1},workers=2,python w.py --x=1,2 "a b"').system
    assert settings.settings.command == 'python w.py --x=1,2 "a b"'
    assert settings.settings.options == {"a": 1} and settings.settings.workers == 2


def test_identity_follows_the_scripts_and_settings_files(tmp_path):
    (tmp_path / "w.py").write_text("1")
    (tmp_path / "c.yaml").write_text("a: 1")
    (tmp_path / "weights.bin").write_bytes(b"\0\1\2")
    command = f"{sys.executable} w.py --config=c.yaml weights.bin"
    editor = CommandEditor(CommandSettings(command=command, folder=str(tmp_path)))
    before = editor.identity()
    assert re.fullmatch(r"w\.py [0-9a-f]{16}, c\.yaml [0-9a-f]{16}", before)
    (tmp_path / "c.yaml").write_text("a: 2")
    assert editor.identity() != before


# The end.


def test_closing_ends_the_worker_and_it_can_be_used_again(odd, ask, tmp_path, scratch):
    editor = odd("well")
    editor.edit(ask())
    (pid,) = started(tmp_path)
    assert is_running(pid) and list(scratch.iterdir())
    editor.close()
    assert not is_running(pid) and not list(scratch.iterdir())
    editor.close()
    editor.edit(ask())
    assert len(started(tmp_path)) == 2


def test_closing_while_a_case_is_under_way_is_not_the_cases_fault(odd, ask, monkeypatch):
    monkeypatch.setattr("medebench.workers.worker_process.GRACE", 0.3)
    editor, caught = odd("never-reads"), []
    editor.prepare()

    def work() -> None:
        try:
            editor.edit(ask())
        except NotTried as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: editor._free.empty())
    time.sleep(0.1)
    editor.close()
    thread.join(PATIENCE)
    assert not thread.is_alive() and len(caught) == 1


def test_an_editor_that_nobody_closes_ends_its_worker(ask, tmp_path):
    words = f"{PYTHON} {ODD} well {tmp_path / 'started'}"
    editor = CommandEditor(CommandSettings(command=words))
    editor.edit(ask())
    del editor
    gc.collect()
    wait_until(lambda: not is_running(started(tmp_path)[0]))


ALONE = """
import sys, time
import medebench as mb
from medebench.cases.case import Case
from medebench.systems import Request
from medebench.systems.external.command_editor import CommandEditor
from medebench.systems.external.external_settings import CommandSettings
from pathlib import Path
editor = CommandEditor(CommandSettings(command=sys.argv[1]))
editor.edit(Request(mb.open_case(Case("1", Path(sys.argv[2]), "Remove it.")), 0, 1))
print("edited", flush=True)
if sys.argv[3] != "end":
    for _ in range(6000):  # A signal just before a sleep does not end it.
        time.sleep(0.1)
"""


@pytest.mark.parametrize("way", ["end", "SIGKILL", "SIGINT", "SIGTERM"])
def test_however_medebench_ends_no_worker_is_left(tmp_path, ask, way):
    picture = ask().case.case.previous
    command = f"{PYTHON} {ODD} well {tmp_path / 'started'}"
    folder = tmp_path / "theirs"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", ALONE, command, str(picture), way],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"edited\n"
        (pid,) = started(tmp_path)
        if way != "end":
            assert is_running(pid)
            process.send_signal(getattr(signal, way))
        process.wait(PATIENCE)
    wait_until(lambda: not is_running(pid))
    left = [one for one in folder.rglob("*") if one.is_file()]
    assert left == []


# SEED-X.


def test_seed_x_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = find_system(f"seed-x:{sys.executable} seedx_worker.py")
    (problem,) = chosen.system.problems()
    assert problem.startswith("seedx_worker.py: no such file")
    assert "SEEDX_HOME" in problem and "docs/examples/seedx_worker.py" in problem
    assert find_system("seed-x").settings["command"] == "python seedx_worker.py"


def test_seed_x_words_the_instruction_and_passes_its_steps_on(ask):
    call = f"seed-x:steps=7,{PYTHON} {WORKERS / 'inverting.py'}"
    editor = find_system(call).system
    said = editor.edit(ask(prompt="Remove {it}.")).detail["said"]
    editor.close()
    assert said["instruction"] == "Edit this image: Remove {it}." and said["steps"] == 7
    with pytest.raises(InputError, match=r"wording: Value error, must contain \{instruction\}"):
        find_system("seed-x:wording=Edit,python x.py")


def test_the_worker_of_seed_x_says_what_it_needs(monkeypatch):
    monkeypatch.delenv("SEEDX_HOME", raising=False)
    call = f"seed-x:max_restarts=1,{PYTHON} {EXAMPLES / 'seedx_worker.py'}"
    chosen = find_system(call)
    assert chosen.system.problems() == []
    with pytest.raises(NotReadyError, match="SEEDX_HOME: not set to a checkout of SEED-X"):
        chosen.system.prepare()

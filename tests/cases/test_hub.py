"""Fetching a published set, against a real HTTP server that can misbehave."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from medebench.cases import hub_sets as hub_module
from medebench.cases.hub_sets import get_cases
from medebench.errors import BusyError, InputError, MedebenchError
from tests.conftest import REPOSITORY, write_set
from tests.fake_hub import (
    COMMIT,
    FakeHub,
    closed_port,
    drip,
    flood,
    half,
    hang,
    packed,
    redirect,
    refuse,
    replace,
)
from tests.models.flood import bomb
from tests.patience import PATIENCE, wait_until

METADATA = "editing/editing_metadata.json"
PICTURE = "editing/changed/2.png"
SECRET = "hf_notToBeSeenAnywhere"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Two cases in the layout of the release, and more that nobody asked for."""
    folder = write_set(tmp_path / "original", count=2)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    files["README.md"] = "# MedEBench, zwölf Bilder".encode()
    files["LICENSE"] = b"Apache"
    files["generated_images/gemini/1_0.png"] = b"large"
    files["editing/generated_images/gemini/2_0.png"] = b"large"
    files["src/baseline.py"] = b"import this"
    monkeypatch.setattr(hub_module, "PAUSES", (0.05, 0.05))
    for name in ("REACH_TIMEOUT", "LIST_TIMEOUT", "FILE_TIMEOUT"):
        monkeypatch.setattr(hub_module, name, PATIENCE)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with FakeHub(files, lfs=frozenset({PICTURE})).serve() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running


@pytest.fixture
def out(tmp_path):
    return tmp_path / "sets" / "MedEBench"


def staging(out):
    return out.with_name(f".{out.name}.partial")


def fails(out, *, error=MedebenchError, kept=False, name="medebench", **options):
    """The text of the one-line error; `out` must be absent, and staging too unless `kept`."""
    with pytest.raises(error) as caught:
        get_cases(name, out, **options)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 300
    assert not out.exists()
    assert staging(out).exists() == kept
    left = [path for path in out.parent.rglob("*") if path.is_file()] if out.parent.exists() else []
    assert bool(left) == kept
    assert kept == ("kept" in text)
    return text


def test_end_to_end(hub, out, capfd, caplog):
    seen = []
    cases = get_cases("medebench", out, progress=lambda done, total: seen.append((done, total)))
    assert [case.id for case in cases] == ["1", "2"] and not cases.problems
    assert cases.root == out and cases.name == "MedEBench"
    wanted = {name for name in hub.files if "generated" not in name and "baseline" not in name}
    assert sorted(hub.downloads()) == sorted(wanted)
    for name in wanted:
        assert (out / name).read_bytes() == hub.files[name]
    assert json.loads((out / "medebench-source.json").read_text()) == {
        "repo": "LIUMinghao/MedEBench",
        "revision": COMMIT,
        "asked": "main",
        "files": len(wanted),
        "bytes": sum(len(hub.files[name]) for name in wanted),
    }
    here = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert here == wanted | {"medebench-source.json"}
    assert seen == [(done, len(wanted)) for done in range(len(wanted) + 1)]
    assert list(out.parent.iterdir()) == [out]
    # The server sent a warning header, as the real one does.
    assert capfd.readouterr() == ("", "") and not caplog.records


def test_any_repository_in_the_same_layout_and_a_revision(hub, out):
    hub.repo = "somebody/my-cases"
    assert len(get_cases("hub:somebody/my-cases", out, revision="v1")) == 2
    asked = [path for path, _ in hub.requests if path.startswith("/api/")]
    assert re.search("/revision/v1\\?", asked[0]) and COMMIT in asked[1]
    assert all("resolve/" + COMMIT in path for path, _ in hub.requests if "/resolve/" in path)


def test_metadata_at_the_top(hub, out):
    hub.files = {name.removeprefix("editing/"): body for name, body in hub.files.items()}
    text = hub.files["editing_metadata.json"].replace(b"editing/", b"")
    hub.files["editing_metadata.json"] = text
    assert len(get_cases("medebench", out)) == 2
    assert not (out / "generated_images").exists()


def test_an_empty_folder_is_filled(hub, out):
    out.mkdir(parents=True)
    assert len(get_cases("medebench", out)) == 2


def test_unusable_records_are_listed_not_fatal(hub, out):
    del hub.files["editing/previous/1.png"]
    cases = get_cases("medebench", out)
    assert [case.id for case in cases] == ["2"] and len(cases.problems) == 1


@pytest.mark.parametrize("name", ["medgan", "hub:", "hub:x", "LIUMinghao/MedEBench", "hub:../x"])
def test_unknown_name(hub, out, name):
    assert "medebench, hub:owner/name" in fails(out, error=InputError, name=name)
    assert not hub.requests


@pytest.mark.parametrize("content", ["folder", "file"])
def test_what_is_there_is_not_touched(hub, tmp_path, content):
    place = tmp_path / "precious"
    if content == "folder":
        place.mkdir()
        (place / "notes.txt").write_text("mine")
    else:
        place.write_text("mine")
    with pytest.raises(InputError, match="already there"):
        get_cases("medebench", place)
    assert not hub.requests


def test_interrupted_then_continued(hub, out):
    def interrupt(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get_cases("medebench", out, progress=interrupt)
    assert not out.exists()
    finished = {
        path.relative_to(staging(out)).as_posix()
        for path in staging(out).rglob("*")
        if path.is_file()
    }
    assert len(finished) >= 3
    hub.requests.clear()
    seen = []
    cases = get_cases("medebench", out, progress=lambda done, total: seen.append(done))
    assert len(cases) == 2 and seen[0] == len(finished)
    assert not finished & set(hub.downloads())
    assert list(out.parent.iterdir()) == [out]


def test_the_same_call_again_finds_all_there(hub, out):
    get_cases("medebench", out)
    hub.requests.clear()
    for revision in ("main", COMMIT):
        assert len(get_cases("medebench", out, revision=revision)) == 2
    assert not hub.requests
    with pytest.raises(InputError, match="not empty"):
        get_cases("medebench", out, revision="v9")
    (out / PICTURE).unlink()
    with pytest.raises(InputError, match="not empty"):
        get_cases("medebench", out)


def test_killed_then_continued(hub, out):
    """SIGKILL while a file hangs: what was whole is used, what was half is not."""
    hub.on(PICTURE, hang(), times=1)
    program = (
        "import sys, medebench.cases.hub_sets as h\n"
        f"h.REACH_TIMEOUT = h.LIST_TIMEOUT = h.FILE_TIMEOUT = {PATIENCE}\n"
        "h.get_cases('medebench', sys.argv[1])"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    process = subprocess.Popen([sys.executable, "-c", program, str(out)], env=environment)
    try:
        wait_until(lambda: len(list(staging(out).rglob("*.png"))) == 5)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    assert not out.exists()
    (staging(out) / "editing" / ".medebench-tmp-1-abc").write_bytes(b"half")
    hub.requests.clear()
    assert len(get_cases("medebench", out)) == 2
    assert set(hub.downloads()) <= {PICTURE, METADATA, "README.md", "LICENSE"}
    assert not list(out.rglob(".medebench-tmp*"))
    assert list(out.parent.iterdir()) == [out]


def test_staged_files_are_checked_before_they_are_used(hub, out):
    fetched = staging(out) / PICTURE
    fetched.parent.mkdir(parents=True)
    fetched.write_bytes(hub.files[PICTURE][:-1] + b"?")
    (staging(out) / "of-another-revision.txt").write_text("old")
    assert len(get_cases("medebench", out)) == 2
    assert (out / PICTURE).read_bytes() == hub.files[PICTURE]
    assert not (out / "of-another-revision.txt").exists()


@pytest.mark.parametrize("name", [PICTURE, METADATA])
def test_wrong_bytes(hub, out, name, monkeypatch):
    """Same length, other content: by SHA-256 for a large file, by git's hash for the others."""
    monkeypatch.setattr(hub_module, "WORKERS", 1)
    hub.on(name, replace(hub.files[name][:-1] + b"?"), times=1)
    text = fails(out, kept=True)
    assert f"{name} came damaged" in text and "run again" in text
    assert not (staging(out) / name).exists()
    hub.requests.clear()
    assert len(get_cases("medebench", out)) == 2
    assert hub.downloads()[0] == name


STATUS = [
    (401, {}, InputError, "set HF_TOKEN"),
    (401, {"X_Error_Code": "RepoNotFound"}, InputError, "no such dataset"),
    (403, {"X_Error_Code": "GatedRepo"}, InputError, "accept its conditions"),
    (404, {"X_Error_Code": "RepoNotFound"}, InputError, "no such dataset"),
    (429, {"Retry_After": "77"}, MedebenchError, "run again in 77 s"),
    (429, {"RateLimit": '"api";r=0;t=55'}, MedebenchError, "run again in 55 s"),
    (500, {}, MedebenchError, "run again later"),
    (503, {}, MedebenchError, "run again later"),
]


@pytest.mark.parametrize(("status", "headers", "error", "hint"), STATUS)
def test_refused_at_the_start(hub, out, status, headers, error, hint):
    hub.on("/api/", refuse(status, **headers))
    text = fails(out, error=error)
    assert hint in text and f"({status})" in text and "LIUMinghao/MedEBench" in text
    assert len(hub.requests) == 1


def test_unknown_revision(hub, out):
    assert "no revision 'v9'" in fails(out, error=InputError, revision="v9")


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (404, 1), (429, 3), (500, 3)])
def test_a_file_is_refused(hub, out, status, tries):
    hub.on("/resolve/", refuse(status))
    text = fails(out)
    assert f"({status})" in text and "run again" in text
    assert max(map(hub.downloads().count, hub.downloads())) == tries


def test_passing_trouble_is_sat_out(hub, out):
    hub.on(PICTURE, refuse(503), times=1)
    hub.on(METADATA, half, times=1)
    hub.on("README", refuse(429, Retry_After="1"), times=1)
    start = time.monotonic()
    assert len(get_cases("medebench", out)) == 2
    assert time.monotonic() - start >= 1
    asked = Counter(hub.downloads())
    assert [asked[name] for name in (PICTURE, METADATA, "README.md", "LICENSE")] == [2, 2, 2, 1]


def test_too_long_a_wait_is_not_waited(hub, out):
    hub.on("/resolve/", refuse(429, Retry_After="3600"))
    assert "too many requests (429); run again in 3600 s" in fails(out)
    assert max(map(hub.downloads().count, hub.downloads())) == 1


def test_a_long_wait_is_announced_once_and_can_be_interrupted(hub, out, caplog):
    hub.on("/resolve/", refuse(429, RateLimit='"resolvers";r=0;t=200'))

    over = threading.Event()

    def interrupt() -> None:
        wait_until(lambda: caplog.records)
        # Python drops an interrupt that comes while it clears up, as a user presses again.
        while not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            over.wait(1)

    def interrupted(*_: object) -> None:
        if not over.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    thread = threading.Thread(target=interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            try:
                get_cases("medebench", out)
            finally:
                over.set()
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    # Nobody asked again, as they would have after the wait.
    assert max(Counter(hub.downloads()).values()) == 1
    assert [record.getMessage()[-19:] for record in caplog.records] == [" asks to wait 200 s"]


@pytest.mark.parametrize("place", ["/api/", "/resolve/"])
def test_half_a_body(hub, out, place):
    hub.on(place, half)
    assert "cannot be reached" in fails(out)
    assert len(hub.downloads()) <= 3 * len(hub.files)


@pytest.mark.parametrize(
    ("place", "limit"),
    [
        ("revision/main", "REACH_TIMEOUT"),
        ("revision/0", "LIST_TIMEOUT"),
        ("/resolve/", "FILE_TIMEOUT"),
    ],
)
def test_hanging_server(hub, out, place, limit, monkeypatch):
    monkeypatch.setattr(hub_module, limit, 0.4)
    hub.on(place, hang())
    assert "no answer" in fails(out)


@pytest.mark.parametrize("place", ["revision/main", "revision/0", "/resolve/"])
def test_endless_answers_are_not_read_to_their_end(hub, out, place, monkeypatch):
    monkeypatch.setattr(hub_module, "LARGEST_LISTING", 10**6)
    hub.on(place, flood(200 * 10**6))
    assert "run again" in fails(out)
    # Buffers of the system hold some megabytes that nobody reads.
    assert hub.sent < 50 * 10**6


@pytest.mark.parametrize("place", ["revision/main", "revision/0", "/resolve/"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_is_not_unpacked(hub, out, place, layers, monkeypatch):
    monkeypatch.setattr(hub_module, "LARGEST_LISTING", 10**6)
    hub.on(place, packed(bomb(layers), ", ".join(["gzip"] * layers)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "run again" in fails(out)
    # In kB: far less than the 600 MB it would become.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000


def test_what_comes_with_a_redirect_is_not_read(hub, out):
    def change(answer):
        redirect(f"{hub.endpoint}/cdn/{PICTURE}")(answer)
        flood(200 * 10**6)(answer)

    hub.on(f"resolve/.*{PICTURE}", change)
    assert len(get_cases("medebench", out)) == 2
    assert hub.sent < 50 * 10**6


def test_redirects_in_a_circle_end(hub, out):
    hub.on("/resolve/|/cdn/", redirect(f"{hub.endpoint}/cdn/{PICTURE}"))
    assert "(302)" in fails(out)


def test_an_answer_packed_once_is_read(hub, out):
    hub.on(METADATA, packed(gzip.compress(hub.files[METADATA]), "gzip"))
    assert len(get_cases("medebench", out)) == 2


@pytest.mark.parametrize("place", ["revision/0", "/resolve/"])
def test_a_byte_now_and_then_does_not_prolong_it(hub, out, place, monkeypatch):
    monkeypatch.setattr(hub_module, "LONGEST_ANSWER", 0.3)
    hub.on(place, drip(0.02))
    assert "no answer" in fails(out)


@pytest.mark.parametrize("body", [b"<html>log in to the guest network</html>", b"[]", b"{}"])
def test_something_that_is_not_the_hub(hub, out, body):
    hub.on("/api/", replace(body))
    assert "run again" in fails(out)


@pytest.mark.parametrize(
    "name", ["../evil", "editing/../../evil", "/etc/evil", "..\\evil", "C:evil", "editing/\0", ""]
)
def test_names_that_leave_the_folder(hub, out, name):
    hub.files[name] = b"evil"
    assert "could leave the folder" in fails(out)
    assert not hub.downloads() and not list(out.parent.parent.rglob("*evil*"))


def test_another_layout_is_refused_before_anything_is_fetched(hub, out):
    del hub.files[METADATA]
    assert "not laid out like MedEBench" in fails(out, error=InputError)
    assert not hub.downloads()


def test_offline_machine(out, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_ENDPOINT", f"http://user:{SECRET}@127.0.0.1:{closed_port()}")
    text = fails(out)
    assert "cannot be reached (no network?); run again later" in text
    assert "LIUMinghao/MedEBench" in text and SECRET not in text
    assert not out.parent.exists()


def test_name_server_does_not_know_it(out, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    assert "cannot be reached" in fails(out)


def test_network_lost_on_the_way_and_back_again(hub, out, monkeypatch):
    def lose(done, total):
        if done == 2:
            hub.on("/resolve/", half)

    monkeypatch.setattr(hub_module, "WORKERS", 1)
    assert "what was fetched is kept" in fails(out, kept=True, progress=lose)
    hub.rules.clear()
    assert len(get_cases("medebench", out)) == 2


def test_offline_mode_is_respected(hub, out, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE is set" in fails(out, error=InputError)
    assert not hub.requests


def test_token_goes_to_the_hub_only(hub, out, monkeypatch, capfd):
    """Large files live elsewhere; who keeps them shall not learn the token."""
    monkeypatch.setenv("HF_TOKEN", SECRET)
    address = hub.endpoint.replace("127.0.0.1", "localhost") + "/cdn/" + PICTURE
    hub.on("/resolve/.*" + PICTURE, redirect(address))
    assert len(get_cases("medebench", out)) == 2
    sent = {path: headers.get("authorization") for path, headers in hub.requests}
    assert sent.pop("/cdn/" + PICTURE) is None
    assert set(sent.values()) == {f"Bearer {SECRET}"}
    assert not [path for path in out.rglob("*.*") if SECRET.encode() in path.read_bytes()]
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize("odd", ["\x0bx", "✓"])
def test_a_token_that_cannot_be_sent_is_not_shown(hub, out, monkeypatch, odd):
    monkeypatch.setenv("HF_TOKEN", SECRET + odd)
    with pytest.raises(InputError, match="HF_TOKEN cannot be sent") as caught:
        get_cases("medebench", out)
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__


def test_second_process_is_refused(hub, out):
    from filelock import FileLock

    out.parent.mkdir(parents=True)
    with FileLock(f"{staging(out)}.lock"), pytest.raises(BusyError, match="wait for it"):
        get_cases("medebench", out)


def test_disk_trouble_is_one_line(hub, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MedebenchError, match="cannot be written"):
        get_cases("medebench", tmp_path / "file" / "MedEBench")


def test_importing_is_cheap():
    program = "import sys, medebench.cases.hub_sets; sys.exit('huggingface_hub' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 0


def test_names_are_those_the_library_accepts():
    from huggingface_hub.utils import validate_repo_id

    names = ["a/b", "a-b/c.d", "a/b-", "a--b/c", "a/b..c", "a/b.git", "-a/b", "a/.b", "_a/b_"]
    for name in [*names, "a/" + "b" * 96, "a/" + "b" * 97]:
        try:
            validate_repo_id(name)
        except ValueError:
            with pytest.raises(InputError):
                hub_module._repo("hub:" + name)
        else:
            assert hub_module._repo("hub:" + name) == name


def test_excerpt_of_the_release(excerpt, hub, out):
    """69 real samples, of which the outputs of models stay where they are."""
    files = [path for path in sorted(excerpt.rglob("*")) if path.is_file()]
    hub.files = {path.relative_to(excerpt).as_posix(): path.read_bytes() for path in files}
    assert len(get_cases("medebench", out)) == 69
    assert not (out / "generated_images").exists()


def test_paths_may_be_relative(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert get_cases("medebench", Path("here")).root == tmp_path / "here"

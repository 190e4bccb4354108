"""The protocol between pages and server, and the server as a program."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from medebench.cli import app
from medebench.errors import InputError
from medebench.study.design import Study
from medebench.study.results.thresholds_in_words import HASTY
from medebench.study.server.answer_store import open_store
from medebench.study.server.security import read_origin
from medebench.study.server.serve import serve, serving, warning
from tests.patience import PATIENCE, wait_until
from tests.study.conftest import RANKS, Panel, Process
from tests.study.small import MODELS, small_design, write_study

NOTHING: dict[str, list[list[str]]] = {"ea": [], "cp": [], "vq": []}


# Pages


def test_each_visitor_gets_their_page(panel: Panel):
    stranger, tab, admin = panel.stranger(), panel.sign_in(), panel.sign_in("admin")
    pages = {
        "welcome": stranger.get("/").text,
        "join": stranger.get("/join").text,
        "panel": tab.get("/").text,
        "admin": admin.get("/admin").text,
    }
    assert len(set(pages.values())) == 4
    assert all("<html" in page for page in pages.values())
    assert (admin.get("/").status_code, admin.get("/").headers["location"]) == (303, "/admin")
    refused = tab.get("/admin")
    assert (refused.status_code, refused.text) == (403, pages["welcome"])


def test_static_files_are_asked_for_again_and_not_sent_again(panel: Panel):
    from medebench.study.server.static_pages import static_files

    names = list(static_files())
    assert any(one.endswith(".js") for one in names)
    kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
    client = panel.stranger()
    for name in names:
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200 and answer.content == static_files()[name][0]
        wanted = kinds.get(name.rpartition(".")[2], "image/svg+xml")
        assert answer.headers["content-type"] == wanted
        again = client.get(f"/static/{name}", headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304 and not again.content


# Annotating


def test_the_study_as_the_panel_sees_it(panel: Panel):
    tab = panel.sign_in()
    about = tab.get("/api/study").json()
    assert about["title"] == "A small study" and about["annotator"] == "annotator-1"
    assert about["closed"] is False and len(about["csrf"]) == 64
    assert [one["key"] for one in about["dimensions"]] == ["ea", "cp", "vq"]
    assert all(one["name"] and one["question"] and one["hint"] for one in about["dimensions"])
    assert [one["trial"] for one in about["tasks"]] == [True] + [False] * 5
    assert [one["place"] for one in about["tasks"]] == list(range(6))
    tab.save(1, 0)
    tab.save(2, 0, state="done")
    tab.save(3, 0, state="skipped", reason="too dark")
    states = [one["state"] for one in tab.get("/api/study").json()["tasks"]]
    assert states == ["open", "draft", "done", "skipped", "open", "open"]


def test_a_task_as_the_panel_sees_it(panel: Panel):
    tab = panel.sign_in()
    assert tab.get("/api/tasks/0").json() == {
        "place": 0,
        "trial": True,
        "group": "Skin",
        "texts": [
            {"label": "Instruction", "text": "Remove the mole.", "side": "case"},
            {"label": "Wanted", "text": "The mole is gone.", "side": "reference"},
        ],
        "images": [{"name": "previous", "label": "Input", "side": "case", "outline": True}],
        "letters": ["A", "B", "C"],
        "outputs": {letter: {"image": True, "text": None} for letter in "ABC"},
        "flicker": True,
        "gives": ["image"],
        "width": 16,
        "height": 12,
        "version": 0,
        "state": "open",
        "ranks": NOTHING,
        "reason": "",
        "seconds": 0.0,
        "history": [],
    }
    assert tab.get("/pictures/0/reference.png").status_code == 404
    assert tab.get("/pictures/1/reference.png").status_code == 200
    for place in ("6", "-1", "x", "1.0", "0x1", "9" * 5000, "%31%00"):
        answer = tab.get(f"/api/tasks/{place}")
        assert answer.status_code == 404 and answer.json()["problem"]


def test_saves_come_back_and_can_be_undone_after_a_reload(panel: Panel):
    tab = panel.sign_in()
    steps = [
        {"ea": [["A"]], "cp": [], "vq": []},
        {"ea": [["B"], ["A"]], "cp": [], "vq": []},
        {"ea": [["B"], ["A"]], "cp": [], "vq": []},
        {"ea": [["B", "A"]], "cp": [], "vq": []},
        RANKS,
    ]
    for version, ranks in enumerate(steps):
        told = tab.save(1, version, ranks=ranks, seconds=version + 0.5).json()
        assert told["version"] == version + 1 and told["savedAt"].endswith("Z")
    done = tab.save(1, 5, state="done", ranks=RANKS, seconds=9.25)
    assert done.status_code == 200
    shown = panel.again(tab.token).get("/api/tasks/1").json()
    assert (shown["version"], shown["state"], shown["seconds"]) == (6, "done", 9.25)
    assert shown["ranks"] == RANKS
    # Each step differs from the next, and the first is the empty one.
    assert shown["history"] == [NOTHING, steps[0], steps[1], steps[3]]


def test_history_is_the_last_hundred_steps(panel: Panel):
    tab = panel.sign_in()
    for version in range(105):
        ranks = {"ea": [["A"]] if version % 2 else [["B"]], "cp": [], "vq": []}
        assert tab.save(1, version, ranks=ranks).status_code == 200
    history = tab.get("/api/tasks/1").json()["history"]
    assert len(history) == 100
    assert history[-1] == {"ea": [["A"]], "cp": [], "vq": []} and NOTHING not in history


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ranks": RANKS | {"ea": [["A"], ["D"]]}}, "ea: contains a letter that is not shown"),
        ({"ranks": RANKS | {"ea": [["A"], ["a"]]}}, "ea: contains a letter that is not shown"),
        ({"ranks": RANKS | {"cp": [["A", "B"], ["A"]]}}, "cp: a letter appears twice"),
        ({"ranks": RANKS | {"cp": [["A", "A"]]}}, "cp: a letter appears twice"),
        ({"ranks": RANKS | {"vq": [["A"], []]}}, "vq: a place is empty"),
        ({"ranks": {"ea": [], "cp": []}}, "expected ea, cp, vq"),
        ({"ranks": RANKS | {"realism": []}}, "expected ea, cp, vq"),
        ({"ranks": [["A"]]}, "ranks"),
        ({"ranks": RANKS | {"ea": ["A"]}}, "ranks.ea.0"),
        ({"ranks": RANKS | {"ea": [[1]]}}, "ranks.ea.0.0"),
        ({"state": "done", "ranks": RANKS | {"vq": [["A"]]}}, "vq: B, C not ranked yet"),
        ({"state": "done", "ranks": NOTHING}, "not ranked yet"),
        ({"state": "skipped"}, "reason: please say"),
        ({"state": "skipped", "reason": "  "}, "reason: please say"),
        ({"state": "open"}, "state"),
        ({"reason": "x" * 501}, "reason"),
        ({"reason": "a\0b"}, "reason"),
        ({"reason": None}, "reason"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": "12"}, "seconds"),
        ({"version": -1}, "version"),
        ({"version": "0"}, "version"),
        ({"version": 0.5}, "version"),
        ({"key": "short"}, "key"),
        ({"key": "with space and more"}, "key"),
        ({"key": "newline-at-end\n"}, "key"),
        ({"key": "x" * 65}, "key"),
        ({"annotator": "annotator-2"}, "annotator"),
    ],
    ids=lambda one: str(one)[:50],
)
def test_answers_that_make_no_sense_are_refused(
    shared_panel: Panel, changes: dict[str, Any], words: str
):
    tab = shared_panel.sign_in()
    answer = tab.save(1, changes.pop("version", 0), **changes)
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["problem"] and "\n" not in answer.json()["problem"]
    assert tab.get("/api/tasks/1").json()["version"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'"x"',
        b"[" * 60_000,
        b"\xff\xfe",
        b'{"version": NaN}',
        b'{"version": 0, "key": "12345678", "state": "draft", "seconds": 1e999,'
        b' "ranks": {"ea": [], "cp": [], "vq": []}}',
        b'{"version": 0, "key": "12345678", "state": "draft", "reason": "\\ud800",'
        b' "ranks": {"ea": [], "cp": [], "vq": []}}',
    ],
    ids=lambda one: repr(one[:30]),
)
def test_bodies_that_are_no_answer_are_refused(shared_panel: Panel, body: bytes):
    answer = shared_panel.sign_in().put("/api/tasks/1", content=body)
    assert answer.status_code == 422 and answer.json()["problem"]


def test_large_bodies_are_refused_also_without_a_length(panel: Panel):
    tab = panel.sign_in()
    assert tab.put("/api/tasks/1", content=b" " * 65_537).status_code == 413
    assert tab.put("/api/tasks/1", content=(b" " * 8192 for _ in range(100))).status_code == 413
    assert panel.stranger().post("/api/sign-in", json={"token": "x" * 70_000}).status_code == 413
    assert tab.save(1, 0).status_code == 200


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["ea", "cp", "vq", "x"]), inner, max_size=4)
    ),
    max_leaves=10,
)
BODY = st.fixed_dictionaries(
    {},
    optional={
        "version": JSON | st.integers(0, 3),
        "key": JSON | st.uuids().map(str),
        "state": JSON | st.sampled_from(["draft", "done", "skipped"]),
        "ranks": JSON
        | st.fixed_dictionaries(
            {
                name: st.lists(st.lists(st.sampled_from("ABCD"), max_size=2), max_size=3)
                for name in ("ea", "cp", "vq")
            }
        ),
        "reason": JSON | st.text(max_size=20),
        "seconds": JSON,
    },
)


def test_no_body_breaks_the_server(shared_panel: Panel):
    tab = shared_panel.sign_in()

    @settings(max_examples=100, deadline=None)
    @given(body=BODY)
    def send(body: Any) -> None:
        answer = tab.put("/api/tasks/2", json=body)
        assert answer.status_code in (200, 409, 422), answer.text
        shown = tab.get("/api/tasks/2")
        assert shown.status_code == 200
        if answer.status_code == 200:
            assert shown.json()["ranks"] == body["ranks"]

    send()


def test_signing_out(panel: Panel):
    tab = panel.sign_in()
    session = dict(tab.cookies)
    assert tab.post("/api/sign-out").status_code == 204
    assert not tab.cookies
    stranger = panel.stranger()
    stranger.cookies.update(session)
    assert stranger.get("/api/study").status_code == 401
    assert panel.again(tab.token).get("/api/study").status_code == 200


@pytest.mark.parametrize("body", [{}, {"token": 5}, {"token": "a", "more": 1}, [], None])
def test_a_sign_in_that_is_none(shared_panel: Panel, body: Any):
    headers = {"content-type": "application/json"}
    answer = shared_panel.stranger().post("/api/sign-in", json=body, headers=headers)
    assert answer.status_code == 422


def test_a_restart_signs_nobody_out(study: Study):
    with serving(study) as url:
        panel = Panel(study, url, None)
        tab = panel.sign_in()
        tab.save(1, 0)
        cookies = dict(tab.cookies)
        panel.close()
    with serving(study) as url, httpx.Client(base_url=url, cookies=cookies) as client:
        assert client.get("/api/tasks/1").json()["version"] == 1


# The administrator


def test_what_the_administrator_sees(panel: Panel):
    admin, tab = panel.sign_in("admin"), panel.sign_in()
    fresh = admin.get("/api/admin").json()
    assert [one["name"] for one in fresh["annotators"]] == ["annotator-1", "annotator-2"]
    assert [one["invited"] for one in fresh["annotators"]] == [True, False]
    assert fresh["annotators"][0]["medianSeconds"] is None
    assert fresh["annotators"][0]["lastSaved"] is None
    assert set(fresh["agreement"]) == {"ea", "cp", "vq"}
    for one in fresh["agreement"].values():
        assert one["spearman"] is None and one["reason"]

    annotator = panel.study.design.annotator("annotator-1")
    assert annotator is not None
    letters = {name: letter for letter, name in zip("ABC", annotator.tasks[4].order, strict=True)}
    ruined = letters.pop("(ruined)")
    attentive = {key: [sorted(letters.values()), [ruined]] for key in ("ea", "cp", "vq")}
    for place, seconds in ((0, 100.0), (1, 4.0), (2, 8.0)):
        tab.save(place, 0, state="done", seconds=seconds)
    tab.save(4, 0, state="done", ranks=attentive, seconds=7.0)
    tab.save(3, 0, state="skipped", reason="two <i>moles</i>", seconds=1.0)
    last = tab.save(5, 0)
    told = admin.get("/api/admin").json()
    me = told["annotators"][0]
    assert me == {
        "name": "annotator-1",
        "invited": True,
        "revoked": False,
        "tasks": 5,  # as the annotator sees it: without the trial
        "done": 3,
        "skipped": 1,
        "draft": 1,
        "lastSaved": last.json()["savedAt"],
        "medianSeconds": 6.0,
        "controls": {"passed": 1, "failed": 0, "open": 0},
        "repeats": {"done": 0, "of": 1},
        "doubts": {"seconds": "took a median of 6 s per case", "controls": ""},
    }
    assert told["skips"] == [
        {"annotator": "annotator-1", "number": 3, "case": "case-3", "reason": "two <i>moles</i>"}
    ]
    careless = {key: [[ruined], sorted(letters.values())] for key in ("ea", "cp", "vq")}
    tab.save(4, 1, state="done", ranks=careless)
    for place in (1, 2):
        tab.save(place, 1, state="done", seconds=HASTY)
    tab.save(0, 1, state="skipped", reason="only a trial")
    told = admin.get("/api/admin").json()
    me = told["annotators"][0]
    assert me["controls"] == {"passed": 0, "failed": 1, "open": 0}
    assert me["doubts"] == {"seconds": "", "controls": "failed 1 of 1 controls"}
    assert (me["done"], me["skipped"]) == (3, 1)
    assert [one["number"] for one in told["skips"]] == [None, 3]
    admin.post("/api/admin/people/annotator-1/revoke")
    me = admin.get("/api/admin").json()["annotators"][0]
    assert (me["invited"], me["revoked"]) == (False, True)
    assert admin.get("/api/admin").json()["csrf"] == admin.headers["x-medebench-token"]


@pytest.mark.parametrize("people", [2, 3])
def test_cases_compared_are_counted_once_however_many_ranked_them(tmp_path: Path, people: int):
    study = write_study(tmp_path / "study", small_design(annotators=people))
    ranked = {0: (0, 1, 2, 3, 5), 1: (0, 1, 2), 2: (1,)}
    with serving(study) as url:
        panel = Panel(study, url, None)
        for number in range(people):
            tab = panel.sign_in(f"annotator-{number + 1}")
            for place in ranked[number]:
                assert tab.save(place, 0, state="done").status_code == 200
        assert tab.save(3, 0).status_code == 200  # not to the end
        found = panel.sign_in("admin").get("/api/admin").json()["agreement"]
        panel.close()
    assert {one["cases"] for one in found.values()} == {2}


def test_agreement_so_far(panel: Panel):
    """Two people who say the same agree perfectly, and the opposite perfectly not."""
    admin = panel.sign_in("admin")
    for name in ("annotator-1", "annotator-2"):
        tab, annotator = panel.sign_in(name), panel.study.design.annotator(name)
        assert annotator is not None
        for place in (1, 2, 3):
            by_name = sorted(zip(annotator.tasks[place].order, "ABC", strict=True))
            order = [[letter] for _, letter in by_name]
            other = order if name == "annotator-1" else order[::-1]
            ranks = {"ea": order, "cp": other, "vq": [["A", "B", "C"]]}
            assert tab.save(place, 0, state="done", ranks=ranks).status_code == 200
    found = admin.get("/api/admin").json()["agreement"]
    for key, expected in (("ea", 1.0), ("cp", -1.0)):
        assert found[key]["spearman"] == pytest.approx(expected)
        assert found[key]["kendall"] == pytest.approx(expected)
        assert found[key]["cases"] == 3 and found[key]["reason"] == ""
    assert found["ea"]["alpha"] == pytest.approx(1.0)
    assert found["vq"]["spearman"] is None and found["vq"]["reason"]
    assert found["vq"]["cases"] == 3  # compared, though without a number


def test_only_annotators_of_the_study_are_invited(panel: Panel):
    admin = panel.sign_in("admin")
    for name in ("admin", "nobody", "annotator-1%2F..", "%00"):
        for what in ("invite", "revoke"):
            assert admin.post(f"/api/admin/people/{name}/{what}").status_code == 404
    assert admin.get("/api/admin").status_code == 200


def test_links_carry_the_origin_that_people_see(study: Study):
    with serving(study, origin="https://study.example.org/") as url:
        with open_store(study) as store:
            token = store.invite("admin")
        headers = {"host": "study.example.org", "origin": "https://study.example.org"}
        with httpx.Client(base_url=url, headers=headers) as admin:
            signed = admin.post("/api/sign-in", json={"token": token})
            cookie = signed.headers["set-cookie"].partition(";")[0]
            admin.headers["cookie"] = cookie
            admin.headers["x-medebench-token"] = admin.get("/api/admin").json()["csrf"]
            link = admin.post("/api/admin/people/annotator-1/invite", json={}).json()["link"]
    assert link.startswith("https://study.example.org/join#")


# The server as a program


def test_who_lets_others_in_without_encryption_is_warned():
    for host in ("127.0.0.1", "127.0.0.2", "localhost", "::1"):
        assert warning(host, None) is None
    assert warning("0.0.0.0", "https://study.example.org") is None
    for origin in (None, "http://study.example.org"):
        line = warning("0.0.0.0", origin)
        assert line is not None and "https" in line and "\n" not in line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda design: setattr(design.annotators[0], "name", "admin"), "called 'admin'"),
        (lambda design: setattr(design.annotators[0], "name", "annotator-2"), "the same name"),
        (lambda design: setattr(design.annotators[0].tasks[1], "case", 99), "no case 99"),
        (lambda design: design.annotators[0].tasks[1].order.append("x"), "does not have"),
        (lambda design: design.annotators[0].tasks[1].order.extend(MODELS[:1]), "twice"),
    ],
)
def test_a_design_that_makes_no_sense_is_refused_at_the_start(
    tmp_path: Path, change: Callable[[Any], None], words: str
):
    design = small_design()
    change(design)
    study = write_study(tmp_path / "study", design)
    with pytest.raises(InputError, match=words) as caught, serving(study):
        pass
    assert "study.json" in str(caught.value) and "\n" not in str(caught.value)


def test_the_address_is_told_and_a_free_port_is_taken(start: Callable[..., Process], study: Study):
    server = start(study.path)
    assert server.url.startswith("http://127.0.0.1:") and not server.url.endswith(":0")
    assert httpx.get(f"{server.url}/join").status_code == 200


def test_a_port_in_use_is_told_in_one_line(study: Study):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}.*--port") as caught:
            serve(study, port=port)
    assert "\n" not in str(caught.value)
    for host, port in (("256.1.1.1", 0), ("127.0.0.1", 70_000), ("127.0.0.1", -1)):
        with (
            pytest.raises(InputError, match="cannot listen on"),
            serving(study, host=host, port=port),
        ):
            pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_finishes_saves(
    study: Study, start: Callable[..., Process], number: signal.Signals
):
    server = start(study.path)
    panel = Panel(study, server.url, None)
    tab = panel.again(server.told["tokens"]["annotator-1"])
    tab.save(1, 0)
    server.process.send_signal(number)
    _, errors = server.process.communicate(timeout=PATIENCE)
    assert server.process.returncode == 0
    assert errors == ""
    panel.close()
    with open_store(study) as store:
        assert store.count() == 1


def test_who_is_in_a_hurry_gets_no_traceback(study: Study, start: Callable[..., Process]):
    """Ctrl-C twice, while somebody's request has been under way for long."""
    server = start(study.path)
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as stalled:
        stalled.sendall(
            b"PUT /api/tasks/0 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n"
            b"Content-Type: application/json\r\n\r\n{"
        )
        assert httpx.get(f"{server.url}/join").status_code == 200
        server.process.send_signal(signal.SIGINT)
        wait_until(lambda: not reaches(f"{server.url}/"), "the first Ctrl-C")
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGINT)
        _, errors = server.process.communicate(timeout=PATIENCE)
    assert (server.process.returncode, errors) == (0, "")


class Command:
    """`medebench study serve` as people start it, until it says that it is there."""

    def __init__(self, study: Study, *words: str) -> None:
        call = [sys.executable, "-m", "medebench", "study", "serve", str(study.path), "--port", "0"]
        pipe = subprocess.PIPE
        with subprocess.Popen([*call, *words], stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stderr is not None
            lines = []
            while line := process.stderr.readline():
                lines.append(line)
                if "Ctrl-C" in line:
                    break
            self.url = lines[-1].split(": ")[-1].split(" ")[0] if lines else ""
            self.answers = self.url and reaches(self.url)
            process.send_signal(signal.SIGINT)
            self.told, rest = process.communicate(timeout=PATIENCE)
            self.said = "".join(lines) + rest
            self.code = process.returncode

    @property
    def links(self) -> dict[str, str]:
        found = (line.strip().split(": ", 1) for line in self.told.splitlines() if "#" in line)
        return dict(found)


def reaches(url: str) -> bool:
    try:
        return httpx.get(f"{url}join").status_code == 200
    except httpx.TransportError:
        return False


def test_links_are_given_out_once_and_a_restart_undoes_no_revocation(study: Study):
    first = Command(study)
    assert set(first.links) == {"annotator-1", "annotator-2", "admin"} and first.answers
    assert "warning" not in first.said and first.code == 0
    assert "everybody has a link" not in first.said
    assert first.said.endswith("\nstopped; all saved answers are kept\n")
    words = ["study", "invite", str(study.path)]
    assert CliRunner().invoke(app, [*words, "annotator-1", "--revoke"]).exit_code == 0
    again = Command(study)
    assert again.links == {} and again.answers and again.told == ""
    hint = f"everybody has a link; `medebench study invite {study.path} NAME` makes a new one\n"
    assert again.said.startswith(hint)
    nobody = CliRunner().invoke(app, [*words, "--json"])
    assert nobody.exit_code == 0 and json.loads(nobody.stdout) == {}
    with open_store(study) as store:
        assert store.people()["annotator-1"].revoked_at is not None
        for name in ("annotator-2", "admin"):
            assert store.is_invitation(first.links[name].partition("#")[2])


def test_open_to_a_network_it_warns_and_links_can_be_opened_there(study: Study):
    open_to_all = Command(study, "--host", "0.0.0.0")
    assert "warning: 0.0.0.0 accepts other machines without encryption" in open_to_all.said
    for link in open_to_all.links.values():
        assert link.startswith(open_to_all.url) and "0.0.0.0" not in link
    assert open_to_all.answers or "ADDRESS-OF-THIS-MACHINE" in open_to_all.url


def test_origins_are_checked_and_written_as_browsers_do_before_anybody_is_invited(study: Study):
    words = ["study", "invite", str(study.path)]
    with open_store(study) as store:
        token = store.invite("annotator-1")
    wrong = CliRunner().invoke(app, [*words, "annotator-1", "--origin", "study.example.org"])
    assert wrong.exit_code == 2 and "--origin study.example.org: write it as" in wrong.stderr
    with open_store(study) as store:
        assert store.is_invitation(token)
    right = CliRunner().invoke(app, [*words, "--origin", "https://Study.Example.org:443/"])
    assert "annotator-2: https://study.example.org/join#" in right.stdout
    served = Command(study, "--origin", "https://Study.Example.org:443/")
    assert "https://study.example.org/ (Ctrl-C" in served.said


def test_the_log_holds_no_secrets(study: Study, start: Callable[..., Process]):
    server = start(study.path)
    panel = Panel(study, server.url, None)
    tab = panel.again(server.told["tokens"]["annotator-1"])
    tab.save(1, 0)
    panel.stranger().get(f"/join?token={tab.token}")
    panel.stranger().get("/nothing")
    (study.pictures / study.design.cases[1].images[0].picture).unlink()
    assert tab.get("/pictures/1/previous.png").status_code == 404
    secrets = [tab.token, *tab.cookies.values(), tab.headers["x-medebench-token"]]
    panel.close()
    server.process.send_signal(signal.SIGTERM)
    _, errors = server.process.communicate(timeout=PATIENCE)
    assert "p1.png" in errors
    for secret in secrets:
        assert secret not in errors


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("https://study.example.org", "https://study.example.org"),
        ("https://Study.Example.org/", "https://study.example.org"),
        ("https://a.org:443", "https://a.org"),
        ("http://a.org:8080", "http://a.org:8080"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_origins(given: str, read: str):
    assert read_origin(given) == read


@pytest.mark.parametrize(
    "given",
    ["study.example.org", "ftp://a.org", "https://", "https://a.org/path", "https://me@a.org",
     "https://a.org:port", "https://a.org?x", ""],
)  # fmt: skip
def test_origins_that_are_none(given: str):
    with pytest.raises(InputError, match="--origin"):
        read_origin(given)


def test_missing_packages_are_told_in_one_line(tmp_path: Path):
    code = (
        "import importlib.util as util\n"
        "real = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'fastapi' else real(name, *more)\n"
        "from medebench.errors import NotReadyError\n"
        "try:\n"
        "    import medebench.study.server.answer_store\n"
        "except NotReadyError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line = "a study's server and database need fastapi: pip install 'medebench[web]'\n"
    assert done.stdout == line

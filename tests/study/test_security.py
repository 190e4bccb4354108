"""A test for each promise about the safety of the data, on a real server."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from medebench.errors import InputError
from medebench.study.design import Study, open_study
from medebench.study.server.answer_store import open_store
from medebench.study.server.security import POLICY, SAFE_METHODS, new_token
from medebench.study.server.serve import create_app, serving
from medebench.study.server.service import FailureLimit
from tests.patience import PATIENCE
from tests.study.conftest import RANKS, Panel, Process, loading
from tests.study.small import MODELS, small_design, write_study

EVIL = "https://evil.example"


def routes(study: Study) -> list[tuple[str, str]]:
    """(method, path) of everything the application answers, with real values filled in."""
    with open_store(study) as store:
        app = create_app(study, store)
    found = []
    for one in walk(app.router.routes):
        path = one.path.replace("{place}", "1").replace("{name}", "annotator-2")
        found += [(method, path) for method in one.methods]
    assert ("PUT", "/api/tasks/1") in found and ("POST", "/api/admin/close") in found
    # Last, so that whoever tries all of them is signed in for the others.
    return sorted(found, key=lambda one: one[1] == "/api/sign-out")


def walk(some: Any) -> Iterator[APIRoute]:
    for one in some:
        if isinstance(one, APIRoute):
            yield one
        else:
            # A kind of route that this test cannot see into would go unchecked.
            inner = getattr(one, "original_router", None)
            assert inner is not None, one
            yield from walk(inner.routes)


# Every accepted ranking survives a crash of the server at any moment.


def test_every_accepted_ranking_survives_a_crash(tmp_path: Path, start: Callable[..., Process]):
    """Killed several times under load, also while it starts; 50 people are in test_load.py."""
    study = write_study(tmp_path / "study", small_design(annotators=6))
    accepted: dict[tuple[str, int, int], Any] = {}
    for saves in (0, 3, 20):
        server = start(study.path)
        with loading(server.told, PATIENCE, saves) as load:
            server.process.kill()
            told = json.loads(load.communicate(timeout=PATIENCE)[0])
        assert told["broken"] == 6 and told["problems"] == []
        accepted |= {(name, place, version): r for name, place, version, r in told["acknowledged"]}
    # The last round alone acknowledges 20; saves of an earlier one may come again with their keys.
    assert len(accepted) >= 20
    with open_store(study) as store:
        for (name, place, version), ranks in accepted.items():
            kept = {one.version: one for one in store.versions(name, place, most=10_000)}
            assert kept[version].ranks == ranks


# Two tabs or two devices of one annotator cannot overwrite each other silently.


def test_two_tabs_cannot_overwrite_each_other_silently(panel: Panel):
    one = panel.sign_in()
    other = panel.again(one.token)
    assert one.save(1, 0).json()["version"] == 1
    theirs = {key: [["C"], ["A"]] for key in ("ea", "cp", "vq")}
    refused = other.save(1, 0, ranks=theirs)
    assert refused.status_code == 409
    told = refused.json()
    assert "another tab" in told["problem"]
    assert told["current"] == one.get("/api/tasks/1").json()
    assert told["current"]["version"] == 1 and told["current"]["ranks"] == RANKS
    # Having seen it, they may decide to save on top; then the first tab is told.
    assert other.save(1, 1, ranks=theirs).json()["version"] == 2
    assert one.save(1, 1).status_code == 409
    with open_store(panel.study) as store:
        assert [one.ranks for one in store.versions("annotator-1", 1)] == [RANKS, theirs]


def test_two_servers_on_one_database_cannot_overwrite_each_other_either(study: Study):
    with serving(study) as first, serving(study) as second:
        one = Panel(study, first, None)
        tab = one.sign_in()
        other = Panel(study, second, None)
        another = other.again(tab.token)
        assert tab.save(1, 0).status_code == 200
        assert another.save(1, 0).status_code == 409
        assert another.save(1, 1).status_code == 200
        assert tab.save(1, 1).status_code == 409
        one.close()
        other.close()


def test_an_answer_that_got_lost_may_be_asked_for_again(panel: Panel):
    tab = panel.sign_in()
    first = tab.save(1, 0, key="the-same-key")
    assert tab.save(1, 0, key="the-same-key").json() == first.json()
    with open_store(panel.study) as store:
        assert store.count() == 1


# Answers after the study is closed are refused with a word.


def test_answers_after_closing_are_refused_with_a_word(panel: Panel):
    tab, admin = panel.sign_in(), panel.sign_in("admin")
    assert tab.save(1, 0).status_code == 200
    assert admin.post("/api/admin/close").json()["closed"].endswith("Z")
    refused = tab.save(1, 1)
    assert refused.status_code == 423 and "closed" in refused.json()["problem"]
    assert tab.get("/api/study").json()["closed"] is True
    assert tab.get("/api/tasks/1").json()["version"] == 1
    assert admin.post("/api/admin/reopen").json() == {"closed": None}
    assert tab.save(1, 1).status_code == 200


# Tokens are random, stored hashed, revocable.


def test_tokens_are_random():
    many = {new_token() for _ in range(1000)}
    assert len(many) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", one) for one in many)  # 256 bits
    # No letter is preferred at any place: 1000 / 64 = 16 of each are expected.
    for place in range(42):
        letters = [one[place] for one in many]
        assert max(letters.count(letter) for letter in set(letters)) < 50


def test_tokens_and_sessions_are_stored_hashed(panel: Panel):
    tab, admin = panel.sign_in(), panel.sign_in("admin")
    sessions = [next(iter(one.cookies.values())) for one in (tab, admin)]
    tab.save(1, 0)
    files = b"".join(one.read_bytes() for one in panel.study.path.glob("answers.sqlite*"))
    assert b"annotator-1" in files
    for secret in (tab.token, admin.token, *sessions, tab.headers["x-medebench-token"]):
        assert secret.encode() not in files
        assert hashlib.sha256(secret.encode()).hexdigest() != secret
    for secret in (tab.token, *sessions):
        assert hashlib.sha256(secret.encode()).hexdigest().encode() in files
    # Who has read the database cannot sign in with what is there.
    stolen = hashlib.sha256(sessions[0].encode()).hexdigest()
    name = next(iter(tab.cookies))
    answer = panel.stranger().get("/api/study", headers={"cookie": f"{name}={stolen}"})
    assert answer.status_code == 401


def test_tokens_are_revocable_and_take_their_sessions_along(panel: Panel):
    tab, admin = panel.sign_in(), panel.sign_in("admin")
    other = panel.sign_in("annotator-2")
    assert tab.save(1, 0).status_code == 200
    assert admin.post("/api/admin/people/annotator-1/revoke").status_code == 204
    assert tab.save(1, 1).status_code == 401
    assert tab.get("/api/study").status_code == 401
    assert tab.get("/pictures/1/A.png").status_code == 401
    again = panel.stranger().post("/api/sign-in", json={"token": tab.token})
    assert again.status_code == 401
    assert other.save(1, 0).status_code == 200

    link = admin.post("/api/admin/people/annotator-1/invite").json()["link"]
    assert link.startswith(f"{panel.url}/join#")
    back = panel.again(link.partition("#")[2])
    assert back.save(1, 1).status_code == 200
    newer = admin.post("/api/admin/people/annotator-1/invite").json()["link"]
    assert newer != link
    assert back.save(1, 2).status_code == 401
    assert panel.again(newer.partition("#")[2]).get("/api/study").status_code == 200


def test_revoked_by_the_command_line_while_the_server_runs(panel: Panel):
    tab = panel.sign_in()
    assert tab.save(1, 0).status_code == 200
    with open_store(panel.study) as store:
        store.revoke("annotator-1")
    assert tab.save(1, 1).status_code == 401
    with open_store(panel.study) as store:
        assert store.count() == 1


# One annotator cannot see another's answers or the administrator's pages.


def test_an_annotator_sees_only_their_own_answers(panel: Panel):
    mine, theirs = panel.sign_in(), panel.sign_in("annotator-2")
    mine.save(1, 0, reason="my own words")
    shown = theirs.get("/api/tasks/1").json()
    assert shown["version"] == 0 and shown["history"] == []
    assert [one["state"] for one in theirs.get("/api/study").json()["tasks"]] == ["open"] * 6
    assert "my own words" not in theirs.get("/api/tasks/1").text
    # A key of somebody else's answer tells nothing and stands in nobody's way.
    mine.save(2, 0, key="shared-key", reason="secret words")
    answer = theirs.save(2, 0, key="shared-key")
    assert answer.status_code == 200 and answer.json()["version"] == 1
    # No address names a person, so there is nothing to change in one.
    assert not [path for _, path in routes(panel.study) if "{" in path.replace("{name}", "")]


def test_pictures_are_those_of_ones_own_tasks(shared_panel: Panel):
    design = shared_panel.study.design
    for name in ("annotator-1", "annotator-2"):
        tab = shared_panel.sign_in(name)
        annotator = design.annotator(name)
        assert annotator is not None
        for place, task in enumerate(annotator.tasks):
            for letter, key in zip("ABC", task.order, strict=True):
                file = shared_panel.study.pictures / design.cases[task.case].outputs[key].picture
                answer = tab.get(f"/pictures/{place}/{letter}.png")
                assert answer.content == file.read_bytes()
                assert answer.headers["content-type"] == "image/png"


def test_the_same_device_shows_the_next_person_their_own_pictures(shared_panel: Panel):
    """An order is shuffled for each person: a picture from a cache would be the wrong one."""
    first = shared_panel.sign_in().get("/pictures/1/A.png")
    assert first.headers["cache-control"] == "private, no-cache"
    tag = {"if-none-match": first.headers["etag"]}
    second = shared_panel.sign_in("annotator-2").get("/pictures/1/A.png", headers=tag)
    assert second.status_code == 200 and second.headers["etag"] != first.headers["etag"]
    tab = shared_panel.sign_in()
    again = tab.get("/pictures/1/A.png", headers=tag)
    assert again.status_code == 304 and again.content == b""
    # Places 1 and 5 show the same case: tags must not give that away.
    tags = {
        tab.get(f"/pictures/{place}/{letter}.png").headers["etag"]
        for place in (1, 5)
        for letter in "ABC"
    }
    assert len(tags) == 6


def test_nobody_else_sees_the_administrators_pages(panel: Panel):
    tab, stranger, admin = panel.sign_in(), panel.stranger(), panel.sign_in("admin")
    found = [one for one in routes(panel.study) if one[1].startswith("/api/admin")]
    assert len(found) >= 5
    for method, path in found:
        headers = {"content-type": "application/json"}
        assert stranger.request(method, path, headers=headers).status_code == 401, path
        answer = tab.request(method, path)
        assert answer.status_code == 403, path
        assert "annotator-2" not in answer.text and "link" not in answer.json()
    assert tab.get("/admin").status_code == 403
    assert stranger.get("/admin").status_code == 403
    page = admin.get("/admin")
    assert page.status_code == 200 and page.text != tab.get("/admin").text
    assert admin.get("/api/admin").json()["closed"] is None
    with open_store(panel.study) as store:
        assert store.people()["annotator-1"].revoked_at is None
        assert store.who(tab.cookies.popitem()[1])


def test_strangers_see_nothing(shared_panel: Panel):
    stranger = shared_panel.stranger()
    headers = {"content-type": "application/json"}
    open_to_all = {"/", "/join", "/admin", "/static/annotator-2", "/api/sign-in", "/api/sign-out"}
    for method, path in routes(shared_panel.study):
        if path not in open_to_all:
            assert stranger.request(method, path, headers=headers).status_code == 401, path


def test_the_administrator_does_not_annotate(shared_panel: Panel):
    admin = shared_panel.sign_in("admin")
    for path in ("/api/study", "/api/tasks/1", "/pictures/1/A.png"):
        assert admin.get(path).status_code == 403
    assert admin.save(1, 0).status_code == 403
    assert admin.get("/").headers["location"] == "/admin"


def test_no_page_tells_which_model_is_which(panel: Panel):
    tab = panel.sign_in()
    told = tab.get("/api/study").text + str(tab.get("/api/study").headers)
    for place in range(6):
        task = tab.get(f"/api/tasks/{place}")
        told += task.text + str(task.headers)
        for name in ("previous", "reference", "outline", "A", "B", "C"):
            told += str(tab.get(f"/pictures/{place}/{name}.png").headers)
    told += tab.save(1, 0).text + tab.save(1, 0).text
    for word in (
        *MODELS,
        "ruined",
        '"control"',
        '"repeat"',
        "case-1",
        "source-1",
        "x1y",
        "modified",
    ):
        assert word not in told


# All state-changing requests are protected against cross-site forgery.


def forged(panel: Panel) -> list[tuple[str, str]]:
    return [one for one in routes(panel.study) if one[0] not in SAFE_METHODS]


@pytest.mark.parametrize(
    "forgery",
    [
        {"x-medebench-token": None},
        {"x-medebench-token": ""},
        {"x-medebench-token": "0" * 64},
        {"origin": EVIL},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"content-type": None},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
    ],
    ids=lambda one: "-".join(f"{name}={value}" for name, value in one.items()),
)
def test_every_request_that_changes_something_is_protected_against_forgery(
    shared_panel: Panel, forgery: dict[str, str | None]
):
    """All routes of the application are tried: one that is added later cannot be forgotten."""
    panel = shared_panel
    tab, admin = panel.sign_in(), panel.sign_in("admin")
    tried = forged(panel)
    assert len(tried) >= 7
    for method, path in tried:
        if path == "/api/sign-in" and "x-medebench-token" in forgery:
            continue  # nobody is signed in yet; the other checks hold there too
        person = admin if "/admin" in path else tab
        body = json.dumps({"token": tab.token}) if "sign-in" in path else json.dumps({"version": 0})
        request = person.build_request(method, path, content=body)
        for name, value in forgery.items():
            request.headers.pop(name, None)
            if value is not None:
                request.headers[name] = value
        answer = person.send(request)
        assert answer.status_code == 403, (path, answer.text)
        assert "set-cookie" not in answer.headers
    # Nothing has happened.
    assert tab.get("/api/study").json()["closed"] is False
    assert tab.save(1, tab.get("/api/tasks/1").json()["version"]).status_code == 200


def test_a_page_cannot_use_the_forgery_token_of_another_session(panel: Panel):
    tab, other = panel.sign_in(), panel.sign_in("annotator-2")
    tab.headers["x-medebench-token"] = other.headers["x-medebench-token"]
    answer = tab.save(1, 0)
    assert answer.status_code == 403 and "reload" in answer.json()["problem"]


def test_a_page_is_shown_nothing_that_belongs_to_another_session(panel: Panel):
    """Somebody else has signed in beside it: the cookie is theirs, the token still the page's."""
    tab, other = panel.sign_in(), panel.sign_in("annotator-2")
    other.save(1, 0)
    looking = [one for one in routes(panel.study) if one[0] == "GET" and "/static/" not in one[1]]
    assert ("GET", "/api/tasks/1") in looking and ("GET", "/api/study") in looking
    foreign = {"x-medebench-token": tab.headers["x-medebench-token"]}
    for method, path in looking:
        answer = other.request(method, path, headers=foreign)
        assert answer.status_code == 403 and set(answer.json()) == {"problem"}, path
    assert other.get("/api/tasks/1").json()["version"] == 1
    # Pictures come without the token. Their letters mean other models for another person.
    own = tab.get("/api/study").json()["pictures"]
    assert own != other.get("/api/study").json()["pictures"]
    assert tab.get(f"/pictures/1/A.png?of={own}").status_code == 200
    assert other.get(f"/pictures/1/A.png?of={own}").status_code == 403


def test_requests_of_ones_own_pages_pass(panel: Panel):
    tab = panel.sign_in()
    tab.headers.update({"origin": panel.url, "sec-fetch-site": "same-origin"})
    assert tab.save(1, 0).status_code == 200
    tab.headers["content-type"] = "application/json; charset=utf-8"
    assert tab.save(1, 1).status_code == 200


def test_requests_that_only_look_change_nothing(panel: Panel):
    tab, admin = panel.sign_in(), panel.sign_in("admin")
    before = (panel.study.path / "answers.sqlite-wal").read_bytes()
    for method, path in routes(panel.study):
        if method in SAFE_METHODS:
            tab.request(method, path)
            admin.request(method, path)
    assert (panel.study.path / "answers.sqlite-wal").read_bytes() == before


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(study: Study):
    def cookie(url: str, **headers: str) -> str:
        with open_store(study) as store:
            token = store.invite("annotator-1")
        answer = httpx.post(f"{url}/api/sign-in", json={"token": token}, headers=headers)
        return answer.headers["set-cookie"].lower()

    with serving(study) as url:
        plain = cookie(url)
        assert "httponly" in plain and "samesite=strict" in plain and "path=/" in plain
        assert "secure" not in plain and "domain" not in plain
        # Nobody said that there is a proxy, so nobody is believed to be one.
        assert "secure" not in cookie(url, **{"x-forwarded-proto": "https"})
    with serving(study, origin="https://study.example.org") as url:
        assert "; secure" in cookie(url, host="study.example.org")


# Instructions and prompts with HTML in them are shown as text (in a browser: test_browser.py).


def test_html_in_instructions_is_handed_over_as_data(tmp_path: Path):
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u2028 & \"'"
    study = write_study(tmp_path / "study", small_design(instruction=nasty))
    with serving(study) as url:
        panel = Panel(study, url, None)
        tab = panel.sign_in()
        task = tab.get("/api/tasks/1")
        assert task.json()["texts"][0]["text"] == nasty
        assert task.headers["content-type"] == "application/json"
        assert task.headers["x-content-type-options"] == "nosniff"
        saved = tab.save(1, 0, state="skipped", reason=nasty)
        assert saved.status_code == 200
        skip = panel.sign_in("admin").get("/api/admin")
        assert skip.json()["skips"][0]["reason"] == nasty.strip()
        assert skip.headers["content-type"] == "application/json"
        # Pages are files of the package: no text of a study is ever put into one.
        for path in ("/", "/join", "/admin"):
            assert "alert(1)" not in tab.get(path).text
        panel.close()


def test_what_was_sent_is_not_sent_back_as_a_page(shared_panel: Panel):
    for path in ("/<script>alert(1)</script>", "/static/<b>", "/api/tasks/<b>", "/join?<b>"):
        answer = shared_panel.sign_in().get(path)
        assert "<b>" not in answer.text and "alert" not in answer.text


# Image paths cannot be made to leave the study.

OUTSIDE = [
    "/pictures/1/..%2f..%2fstudy.json",
    "/pictures/1/..%2fstudy.json%00.png",
    "/pictures/1/../../study.json.png",
    "/pictures/1/%2e%2e/%2e%2e/study.json.png",
    "/pictures/1/..%5c..%5cstudy.json.png",
    "/pictures/1/%2fetc%2fpasswd.png",
    "/pictures/1//etc/passwd.png",
    "/pictures/1/A%00.png",
    "/pictures/1/x1y0.png",
    "/pictures/1/p1.png",
    "/pictures/1/.png",
    "/pictures/1/AB.png",
    "/pictures/1/a.png",
    "/pictures/1/D.png",
    "/pictures/1/study.json",
    "/pictures/-1/A.png",
    "/pictures/6/A.png",
    "/pictures/1e0/A.png",
    "/pictures/١/A.png",
    "/pictures/" + "9" * 5000 + "/A.png",
    "/pictures/../study.json",
    "/static/..%2fapp.py",
    "/static/../app.py",
    "/static/%2e%2e%2fapp.py",
    "/static//etc/passwd",
    "/static/app.py",
    "/static/",
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path[:40])
def test_image_paths_cannot_leave_the_study(shared_panel: Panel, path: str):
    answer = send_raw(shared_panel, path)
    status = int(answer.split(b" ", 2)[1])
    assert status == 404, answer
    for inside in (b"root:", b"fingerprint", b"secret-alpha", b"def ", b"\x89PNG"):
        assert inside not in answer


def send_raw(panel: Panel, path: str) -> bytes:
    """As it is written: client libraries tidy paths up."""
    import socket
    from urllib.parse import urlsplit

    tab = panel.sign_in()
    name, session = tab.cookies.popitem()
    where = urlsplit(panel.url)
    assert where.hostname and where.port
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n"
        encoded = (head + f"Cookie: {name}={session}\r\n\r\n").encode()
        if not path.isascii():
            from urllib.parse import quote

            encoded = encoded.replace(path.encode(), quote(path, safe="/%").encode())
        connection.sendall(encoded)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


@pytest.mark.parametrize(
    "name",
    ["../study.json", "/etc/passwd", "a/b.png", "..", ".hidden", "", "a\\b.png", "a\0b", "c:x.png"],
)
def test_a_design_with_a_path_for_a_picture_is_refused_at_the_start(study: Study, name: str):
    design = study.design
    design.cases[1].outputs[MODELS[0]].picture = name
    (study.path / "study.json").write_text(design.model_dump_json())
    tampered = open_study(study.path)
    with pytest.raises(InputError, match="not a plain file name") as caught, serving(tampered):
        pass
    assert "\n" not in str(caught.value)


def test_links_among_the_pictures_are_refused(study: Study, tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    picture = study.pictures / study.design.cases[1].images[0].picture
    kept = picture.read_bytes()
    picture.unlink()
    with pytest.raises(InputError, match="cannot be read"), serving(study):
        pass
    picture.symlink_to(secret)
    with pytest.raises(InputError, match="is a link"), serving(study):
        pass
    picture.unlink()
    picture.write_bytes(kept)
    # Also when it takes the place of a picture later.
    with serving(study) as url:
        panel = Panel(study, url, None)
        tab = panel.sign_in()
        assert tab.get("/pictures/1/previous.png").content == kept
        picture.unlink()
        picture.symlink_to(secret)
        answer = tab.get("/pictures/1/previous.png")
        assert answer.status_code == 404 and "secret" not in answer.text
        panel.close()
    moved = study.pictures.rename(tmp_path / "elsewhere")
    study.pictures.symlink_to(moved)
    with pytest.raises(InputError, match="is a link"), serving(study):
        pass


# A strict content security policy.


def test_a_strict_policy_on_every_answer(panel: Panel):
    parts = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert parts["default-src"] == "'none'"
    for name in ("script-src", "style-src", "connect-src", "img-src"):
        assert parts[name] == "'self'"
    assert {parts[name] for name in ("base-uri", "form-action", "frame-ancestors")} == {"'none'"}
    assert "unsafe" not in POLICY and "*" not in POLICY and "http" not in POLICY

    tab, admin, stranger = panel.sign_in(), panel.sign_in("admin"), panel.stranger()
    statuses = set()
    for method, path in [*routes(panel.study), ("GET", "/nothing"), ("DELETE", "/api/study")]:
        for person in (tab, admin, stranger):
            answer = person.request(method, path)
            statuses.add(answer.status_code)
            check_headers(answer)
    large = tab.put("/api/tasks/1", content=b"x" * 70_000)
    check_headers(large)
    other = stranger.get("/", headers={"host": "evil.example"})
    check_headers(other)
    statuses |= {large.status_code, other.status_code}
    assert {200, 204, 303, 401, 403, 404, 413, 421, 422} <= statuses


def check_headers(answer: httpx.Response) -> None:
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in answer.headers
    if answer.status_code >= 400 and "json" in answer.headers.get("content-type", ""):
        assert set(answer.json()) <= {"problem", "current"}
    if "/pictures/" not in str(answer.url) and "/static/" not in str(answer.url):
        assert answer.headers["cache-control"] == "no-store"


def test_pages_hold_no_script_or_style_of_their_own(shared_panel: Panel):
    for person in (shared_panel.stranger(), shared_panel.sign_in(), shared_panel.sign_in("admin")):
        for path in ("/", "/join", "/admin"):
            answer = person.get(path, follow_redirects=True)
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            text = answer.text
            assert not re.search(r"<script(?![^>]*\bsrc=)", text)
            assert not re.search(r"<style|\sstyle=|\son[a-z]+\s*=|javascript:", text)
            for source in re.findall(r'(?:src|href)="([^"]*)"', text):
                assert source.startswith(("/static/", "#", "/")) and "//" not in source, source
                if source.startswith("/static/"):
                    assert person.get(source).status_code == 200, source


def test_what_goes_wrong_inside_is_not_told_outside(
    panel: Panel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    from medebench.study.server.answer_store import Store

    tab = panel.sign_in()

    def broken(*_: object) -> None:
        raise RuntimeError("the inside story")

    monkeypatch.setattr(Store, "versions", broken)
    answer = tab.get("/api/tasks/1")
    assert answer.status_code == 500 and "inside" not in answer.text
    assert set(answer.json()) == {"problem"}
    check_headers(answer)
    assert "the inside story" in caplog.text


def test_a_database_that_is_gone_is_told_without_its_whereabouts(
    panel: Panel, caplog: pytest.LogCaptureFixture
):
    tab = panel.sign_in()
    for file in panel.study.path.glob("answers.sqlite*"):
        file.write_bytes(b"overwritten" * 1000)
    answer = tab.get("/api/tasks/1")
    assert answer.status_code == 503 and "answers.sqlite" not in answer.text
    assert "answers.sqlite" in caplog.text and tab.token not in caplog.text


def test_no_page_describes_the_interface(shared_panel: Panel):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert shared_panel.sign_in("admin").get(path).status_code == 404


# Names under which the server answers (a foreign page may point its own name at this machine).


def test_other_names_for_this_machine_are_refused(study: Study):
    with serving(study) as url:
        port = url.rpartition(":")[2]
        for name in ("localhost", "127.0.0.1", f"localhost:{port}", f"[::1]:{port}"):
            assert httpx.get(f"{url}/join", headers={"host": name}).status_code == 200, name
        for name in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "a@b", "["):
            assert httpx.get(f"{url}/join", headers={"host": name}).status_code == 421, name
    with serving(study, origin="https://study.example.org") as url:
        own, other = {"host": "study.example.org"}, {"host": "example.org"}
        assert httpx.get(f"{url}/join", headers=own).status_code == 200
        assert httpx.get(f"{url}/join", headers=other).status_code == 421
    with serving(study, host="0.0.0.0") as url:
        local = f"http://127.0.0.1:{url.rpartition(':')[2]}"
        assert httpx.get(f"{local}/join", headers={"host": "192.168.7.7"}).status_code == 200
        assert httpx.get(f"{local}/join", headers={"host": "evil.example"}).status_code == 421


# Rate limit on sign-in.


def test_a_rate_limit_on_sign_in(panel: Panel):
    stranger = panel.stranger()
    tab = panel.sign_in()
    for _ in range(10):
        assert stranger.post("/api/sign-in", json={"token": "guess"}).status_code == 401
    refused = stranger.post("/api/sign-in", json={"token": "guess"})
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    # A made-up address does not help.
    headers = {"x-forwarded-for": "10.1.2.3"}
    again = stranger.post("/api/sign-in", json={"token": "guess"}, headers=headers)
    assert again.status_code == 429
    # Who is signed in, or has a link that works, is not disturbed: a hospital is one address.
    assert tab.save(1, 0).status_code == 200
    assert panel.again(tab.token).save(1, 1).status_code == 200
    assert stranger.post("/api/sign-in", json={"token": "guess"}).status_code == 429


def test_many_guesses_at_once_count_as_many_and_links_that_work_not_at_all(panel: Panel):
    tab = panel.sign_in()

    def sign_in(token: str) -> int:
        return httpx.post(f"{panel.url}/api/sign-in", json={"token": token}).status_code

    with ThreadPoolExecutor(15) as pool:
        assert set(pool.map(sign_in, [tab.token] * 15)) == {200}
        found = Counter(pool.map(sign_in, [f"guess-{number}" for number in range(30)]))
    assert found == {401: 10, 429: 20}


def test_behind_a_proxy_the_limit_is_for_each_visitor(study: Study):
    with serving(study, origin="https://study.example.org") as url:

        def guess(address: str) -> int:
            headers = {"host": "study.example.org", "x-forwarded-for": address}
            headers |= {"x-forwarded-proto": "https", "origin": "https://study.example.org"}
            return httpx.post(
                f"{url}/api/sign-in", json={"token": "guess"}, headers=headers
            ).status_code

        assert [guess("10.0.0.1") for _ in range(11)] == [401] * 10 + [429]
        assert guess("10.0.0.2") == 401
        # What the visitor wrote there stands before what the proxy adds.
        assert guess("10.9.9.9, 10.0.0.1") == 429


def test_the_limit_forgets_after_a_minute_and_does_not_grow():
    time = [0.0]
    limit = FailureLimit(most=3, seconds=60, addresses=5, clock=lambda: time[0])
    for second in (0, 10, 20):
        time[0] = second
        assert limit.wait("10.0.0.1") == 0
        limit.failed("10.0.0.1")
    assert limit.wait("10.0.0.1") == 40
    assert limit.wait("::ffff:10.0.0.1") == 40
    assert limit.wait("10.0.0.2") == 0
    time[0] = 59.5
    assert limit.wait("10.0.0.1") == 1
    time[0] = 60.0
    assert limit.wait("10.0.0.1") == 0
    for number in range(3):
        limit.failed(f"2001:db8::{number}")  # one customer's network
    assert limit.wait("2001:db8::ffff") == 60
    assert limit.wait("2001:db8:0:1::") == 0
    for number in range(100):
        limit.failed(f"10.0.1.{number}")
    assert len(limit._failures) == 5
    for _ in range(10):
        limit.failed("10.0.2.1")
        limit.succeeded("10.0.2.1")
    limit.succeeded("10.0.3.1")
    assert limit.wait("10.0.2.1") == 0 and len(limit._failures) == 4

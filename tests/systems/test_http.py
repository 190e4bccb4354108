"""`http:` against a real server on the loopback, well-behaved and otherwise."""

from __future__ import annotations

import base64
import gzip
import io
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.errors import InputError, NotReadyError
from medebench.images.picture import encode_png, read_picture
from medebench.systems import NotTried, Refused, Request, find_system
from medebench.systems.external.http_editor import HttpEditor, HttpSettings
from tests.conftest import draw, write_set
from tests.patience import PATIENCE, wait_until

#: Makes an answer out of a request's body and its number: status, headers, bytes.
Reply = tuple[int, dict[str, str], bytes]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    plan: Callable[[dict[str, Any], int], Reply | str]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls: list[dict[str, Any]] = []
        self.heads: list[tuple[str, dict[str, str]]] = []
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.plan = lambda body, number: inverted(body)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/edit"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up as they like."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.calls)
            self.server.calls.append(body)
            self.server.heads.append((self.path, dict(self.headers)))
        reply = self.server.plan(body, number)
        if reply == "hang":
            self.server.ending.wait(PATIENCE)
            return
        if reply == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            while not self.server.ending.wait(0.05):
                self.wfile.write(b"x")
            return
        if reply == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"x" * 10)
            return
        assert not isinstance(reply, str)
        status, headers, data = reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def as_json(status: int = 200, **body: Any) -> Reply:
    return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


def picture(body: dict[str, Any]) -> Any:
    return read_picture(Path("sent"), base64.b64decode(body["image_png"]))


def inverted(body: dict[str, Any], **more: Any) -> Reply:
    sent = picture(body)
    data = encode_png(np.iinfo(sent.dtype).max - sent)
    return as_json(image=base64.b64encode(data).decode(), **more)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.01)
    monkeypatch.delenv("MEDEBENCH_HTTP_TOKEN", raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield made
        made.ending.set()
        made.shutdown()


@pytest.fixture
def editor(server: Server) -> Iterator[Callable[..., HttpEditor]]:
    made: list[HttpEditor] = []

    def make(**settings: Any) -> HttpEditor:
        made.append(
            HttpEditor(HttpSettings(**{"url": server.url, "timeout": PATIENCE, **settings}))
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Request]:
    def make(case_id: str = "1", k: int = 0, picture: Any = None, **words: Any) -> Request:
        path = tmp_path / f"case-{case_id}.png"
        path.write_bytes(encode_png(draw(3) if picture is None else picture))
        return Request(mb.open_case(Case(case_id, path, "Remove the scar.", **words)), k, seed=5)

    return make


def refusal(editor: HttpEditor, request: Request) -> str:
    with pytest.raises(Refused) as caught:
        editor.edit(request)
    return str(caught.value)


def test_a_run_through_a_server(server, make_set, tmp_path):
    server.plan = lambda body, _: inverted(
        body, id=body["id"], identity="weights of May", detail={"seed": body["seed"]}
    )
    run = mb.edit(make_set(6), f"http:at_once=3,timeout=600,{server.url}", out=tmp_path / "run")
    with run.ledger() as ledger:
        outputs = ledger.outputs()
    assert len(outputs) == 6
    for (case, k), row in outputs.items():
        assert (read_picture(run.output_path(case, k)) == 255 - draw(int(case))).all()
        known = {"worker": {"identity": "weights of May"}, "said": {"seed": row.seed}}
        assert row.detail == known
    assert run.info.settings["url"] == server.url and run.info.how["at_once"] == 3


def test_what_the_server_is_told(server, editor, ask, tmp_path):
    shown = tuple(mb.open_case(case) for case in mb.load_cases(write_set(tmp_path / "shown", 1)))
    request = ask("a b", 2, organ="Skin", task="Remove scars")
    request = Request(request.case, 2, 2**62 + 1, "Entferne “sie”.", shown)
    editor(options={"size": 64}).edit(request)
    (body,) = server.calls
    assert (picture(body) == draw(3)).all()
    (one,) = body["demonstrations"]
    after = read_picture(Path("after"), base64.b64decode(one["after_png"]))
    assert (after == shown[0].reference).all()
    assert one["instruction"] == "Remove the mole number 1."
    rest = {key: body[key] for key in body if key not in ("image_png", "demonstrations")}
    assert rest == {
        "medebench": 1,
        "id": "a b",
        "k": 2,
        "seed": 2**62 + 1,
        "instruction": "Entferne “sie”.",
        "range": 255,
        "settings": {"size": 64},
    }


def test_sixteen_bits_and_raw_pictures_and_compressed_answers(server, editor, ask):
    deep = draw(4).astype(np.uint16) * 257 - 100
    made = editor().edit(ask(picture=deep)).image
    assert made.dtype == np.uint16 and (made == 65535 - deep).all()

    stream = io.BytesIO()
    Image.fromarray(draw(5)).save(stream, "WEBP", lossless=True)
    server.plan = lambda *_: (200, {"Content-Type": "image/webp; q=1"}, stream.getvalue())
    assert (editor().edit(ask()).image == draw(5)).all()

    url = "data:image/png;base64," + base64.b64encode(encode_png(draw(6))).decode()
    packed = gzip.compress(json.dumps({"image": url}).encode())
    server.plan = lambda *_: (200, {"Content-Encoding": "gzip"}, packed)
    assert (editor().edit(ask()).image == draw(6)).all()


def sized(width: int, height: int) -> Reply:
    return as_json(image=base64.b64encode(encode_png(draw(1, height, width))).decode())


def test_an_answer_of_another_size(server, editor, ask):
    server.plan = lambda *_: sized(128, 96)
    made = editor().edit(ask())
    assert made.image.shape == (48, 64, 3) and made.detail == {"returned": [128, 96]}
    server.plan = lambda *_: sized(300, 200)
    assert refusal(editor(), ask()) == "returned 300 x 200 for a picture of 64 x 48"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (as_json(refused="too  dark"), "too dark"),
        (as_json(image="!!!"), "the server's image is not base64"),
        (as_json(image=base64.b64encode(b"hello").decode()), "the worker's picture: not an image"),
        (as_json(image=""), "the worker's picture: empty file"),
        (as_json(picture="x"), "the server's answer holds neither image nor refused"),
        (as_json(id="7", image=""), "the server's answer is for another case"),
        (
            (200, {"Content-Type": "image/png"}, encode_png(draw(1))[:300]),
            "the worker's picture: d",
        ),
        ((200, {}, b"<html>hello"), "the server's answer is neither JSON nor a picture: '<html>"),
        ((200, {}, b"[1]"), "the server's answer is neither JSON nor a picture: '[1]'"),
        (as_json(400, detail="no such model"), "HTTP 400: no such model"),
        (as_json(422, error={"message": "bad seed"}), "HTTP 422: bad seed"),
        ((204, {}, b""), "HTTP 204: expected 200 and a picture"),
    ],
)
def test_what_is_no_picture_is_a_reason_and_not_asked_again(server, editor, ask, reply, reason):
    server.plan = lambda *_: reply
    assert refusal(editor(), ask()).startswith(reason)
    assert len(server.calls) == 1


def test_redirects_are_not_followed(server, editor, ask):
    server.plan = lambda *_: (307, {"Location": server.url + "/other"}, b"")
    assert refusal(editor(), ask()) == "HTTP 307: the server has moved; give its new address"
    assert len(server.calls) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_trouble_is_tried_again(server, editor, ask, status):
    server.plan = lambda body, number: as_json(status) if number < 3 else inverted(body)
    assert (editor().edit(ask()).image == 255 - draw(3)).all()
    assert len(server.calls) == 4


def test_the_server_says_when_to_come_back(server, editor, ask, monkeypatch):
    waits: list[float | None] = []

    def no_pause(attempt: int, wait: float | None, chance: Any) -> float:
        waits.append(wait)
        return 0.0

    monkeypatch.setattr("medebench.systems.external.http_editor.pause", no_pause)
    replies = [(503, {"Retry-After": "7"}, b""), (429, {"Retry-After": "9"}, b""), as_json(500)]
    server.plan = lambda body, number: [*replies, inverted(body)][number]
    editor().edit(ask())
    assert waits == [7.0, 9.0, None]


def test_a_wait_too_long_is_not_waited_for(server, editor, ask):
    server.plan = lambda *_: (429, {"Retry-After": "86400"}, b"come tomorrow")
    with pytest.raises(NotTried, match="HTTP 429: come tomorrow"):
        editor().edit(ask())
    assert len(server.calls) == 1


def test_trouble_that_does_not_end_is_a_reason(server, editor, ask):
    server.plan = lambda *_: (500, {}, b"out of memory")
    assert refusal(editor(), ask()) == "HTTP 500: out of memory (attempts: 4)"
    assert refusal(editor(attempts=2), ask()) == "HTTP 500: out of memory (attempts: 2)"


def test_an_answer_cut_off_is_asked_for_again(server, editor, ask):
    server.plan = lambda body, number: "cut" if not number else inverted(body)
    assert (editor().edit(ask()).image == 255 - draw(3)).all()


@pytest.mark.parametrize("habit", ["hang", "drip"])
def test_a_server_that_takes_too_long_is_asked_once(server, editor, ask, habit):
    server.plan = lambda *_: habit
    assert refusal(editor(timeout=1), ask()) == "no answer in 1 s"
    wait_until(lambda: server.calls)
    assert len(server.calls) == 1


def test_an_answer_without_end_is_cut(server, editor, ask, monkeypatch):
    monkeypatch.setattr("medebench.workers.http_poster.LARGEST_ANSWER", 1000)
    bomb = gzip.compress(b"x" * 5_000_000)
    server.plan = lambda *_: (200, {"Content-Encoding": "gzip"}, bomb)
    assert refusal(editor(), ask()) == "the server's answer has more than 1,000 bytes"


def test_without_a_server_nothing_is_written_and_the_rest_is_not_tried(make_set, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/edit"
        editor = find_system(f"http:{url}").system
        case = mb.open_case(next(iter(mb.load_cases(make_set(5)))))
        for number in range(5):
            begins = "not asked, since others failed: no conn" if number > 2 else "no connection to"
            with pytest.raises(NotTried, match=f"^{begins}"):
                editor.edit(Request(case, 0, 1))
        editor.close()
        with pytest.raises(mb.MedebenchError, match="5 outputs were not tried"):
            mb.edit(make_set(5), f"http:attempts=1,{url}", out=tmp_path / "run")
    with mb.open_run(tmp_path / "run").ledger() as ledger:
        assert ledger.outputs() == {}


def test_one_answer_in_between_makes_good(server, editor, ask):
    server.plan = lambda body, number: as_json(403) if number % 3 else inverted(body)
    one = editor()
    for number in range(9):
        if number % 3:
            with pytest.raises(NotTried, match=r"^HTTP 403"):
                one.edit(ask())
        else:
            one.edit(ask())


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_wrong_address_or_token_is_no_fault_of_the_case(server, make_set, tmp_path, status):
    server.plan = lambda *_: (status, {}, b"who are you?")
    call = f"http:{server.url}"
    with pytest.raises(mb.MedebenchError, match=f"5 outputs were not tried: .*HTTP {status}: who"):
        mb.edit(make_set(5), call, out=tmp_path / "run")
    # Offered thrice, and no reason is written.
    assert len(server.calls) == 3
    with mb.open_run(tmp_path / "run").ledger() as ledger:
        assert ledger.outputs() == {}
    server.plan = lambda body, _: inverted(body)
    assert len(list(mb.edit(make_set(5), call, out=tmp_path / "run").edits.iterdir())) == 5


def test_waiting_for_others_is_not_the_servers_time(server, editor, ask):
    """More threads than connections, as from an editor around this one."""

    def plan(body: dict[str, Any], number: int) -> Reply:
        server.ending.wait(3)
        return inverted(body)

    server.plan = plan
    # The last waits for longer than that; each by itself is answered in far less.
    one, made = editor(timeout=8), []
    asked = [ask(str(number)) for number in range(4)]
    threads = [
        threading.Thread(target=lambda each=each: made.append(one.edit(each))) for each in asked
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(made) == len(server.calls) == 4


def test_closing_ends_a_wait(server, editor, ask):
    server.plan = lambda *_: (503, {"Retry-After": "60"}, b"")
    one, caught = editor(), []

    def work() -> None:
        try:
            one.edit(ask())
        except NotTried as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: server.calls)
    time.sleep(0.1)
    one.close()
    thread.join(PATIENCE)
    assert caught == ["ended before the server answered"]


# Secrets.


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_secrets_reach_the_server_and_nothing_else(server, make_set, tmp_path, monkeypatch, caplog):
    def plan(body: dict[str, Any], number: int) -> Reply:
        if body["id"] == "1":
            head = server.heads[number]
            return 400, {}, f"echo {head[0]} {head[1]['Authorization']}".encode()
        return inverted(body)

    server.plan = plan
    monkeypatch.setenv("MEDEBENCH_HTTP_TOKEN", "token-of-mine-4711")
    url = server.url.replace("http://", "http://anna:pass-word-99@") + "?key=query-key-42&n=1"
    with caplog.at_level(logging.DEBUG):
        run = mb.edit(make_set(2), f"http:{url}", out=tmp_path / "run")
        again = mb.edit(make_set(2), f"http:{server.url}?key=query-key-42", out=tmp_path / "again")
    login = base64.b64encode(b"anna:pass-word-99").decode()
    assert server.heads[0][0] == "/edit?key=query-key-42&n=1"
    assert server.heads[0][1]["Authorization"] == f"Basic {login}"
    assert server.heads[-1][1]["Authorization"] == "Bearer token-of-mine-4711"
    with again.ledger() as ledger:
        reason = ledger.outputs()["1", 0].reason
    assert reason == "HTTP 400: echo /edit?*** Bearer ***"
    written = everything_in(run.path) + everything_in(again.path) + caplog.text.encode()
    for secret in (b"pass-word-99", b"query-key-42", b"token-of-mine", login.encode()):
        assert secret not in written
    assert run.info.settings["url"] == server.url
    assert "HTTP Request: POST" in caplog.text, "else this test has nothing to look at"


def test_settings_do_not_show_the_address():
    chosen = find_system("http:http://anna:pass-word-99@host.example:8000/edit/?key=query-key-42")
    assert "pass-word" not in repr(chosen) and "query-key" not in repr(chosen)
    assert chosen.settings["url"] == "http://host.example:8000/edit/"


def test_a_token_that_is_none_is_told_before_any_work(monkeypatch):
    monkeypatch.setenv("MEDEBENCH_HTTP_TOKEN", "two words")
    with pytest.raises(NotReadyError, match="MEDEBENCH_HTTP_TOKEN: holds characters") as caught:
        find_system("http:http://localhost:1/edit").require_ready()
    assert "two words" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("http", "name a url, such as http:"),
        ("http:gpu-box:8000/edit", "url: Value error, expected something like http://gpu-box"),
        ("http:ftp://gpu-box/edit", "url: Value error, expected something like http://gpu-box"),
        ("http:http://user:secret-one@:99999999/", "url: Value error, expected something like"),
        ("http:at_once=0,http://x/", "at_once: Input should be greater"),
    ],
)
def test_mistakes_in_the_call_are_named(call, words):
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        find_system(call)
    assert "secret-one" not in str(caught.value)


def test_nothing_is_asked_before_the_run(server):
    chosen = find_system(f"http:{server.url}?a=b,c=d")
    assert chosen.system.problems() == [] and chosen.system.identity() == ""
    assert server.calls == []

"""A provider in one file: a protocol of its own, and everything that is there for the others."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError, NotReadyError
from medebench.judge import find_judge
from medebench.models import (
    Ask,
    Caller,
    Image,
    Price,
    Provider,
    Reply,
    encode_for_model,
    find_client,
)
from medebench.models.model_lookup import PROVIDERS, names_model
from medebench.runs.stages.judge_scores import JudgeLimits, JudgeStoppedError, estimate_judging
from medebench.settings import split_name
from tests.conftest import draw

NAME = f"{__file__}:Postcard:tiny:7b"
KEY = "stamp-0123456789"


class Postcard(Provider):
    """Questions are cards of lines; the server writes back on one."""

    vendor = "postcard"
    address = "http://127.0.0.1:1/box"
    address_variable = "POSTCARD_URL"
    key_variables = ("POSTCARD_KEY",)
    prices: ClassVar = {"tiny:7b": Price(100.0, 1000.0)}
    unknown = frozenset({"seed"})

    async def send(self, connection, ask, allowed):
        lines = [self.system_text(ask, allowed)]
        lines += [f"<{part.mime}>" if isinstance(part, Image) else part for part in ask.parts]
        lines += [text for turn in ask.turns for text in (turn.said, turn.reply)]
        body = {"to": self.model, "lines": lines, "schema": "schema" in allowed}
        stamp = {"Stamp": self.key_or("none")}
        back = await self.post(connection, "/cards", body, stamp)
        read, wrote = back.count("read"), back.count("wrote")
        return Reply(back.text("card"), tokens_in=read, tokens_out=wrote)

    def image_tokens(self, width, height, ask):
        return 7


class PostOffice(ThreadingHTTPServer):
    """Speaks that protocol; `troubles` are statuses that come before the answers."""

    daemon_threads = True

    def __init__(self, troubles=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.troubles, self.cards, self.lock = list(troubles), [], threading.Lock()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        scores = {"editing_accuracy": {"score": 6}, "visual_quality": {"score": 9}}
        answer = {"card": json.dumps({"differences": [], **scores}), "read": 30, "wrote": 5}
        with self.server.lock:
            self.server.cards.append((self.path, self.headers.get("Stamp"), body))
            status = self.server.troubles.pop(0) if self.server.troubles else 200
        if status == 422:
            answer = {"error": {"message": "this box knows no schema"}}
        data = json.dumps(answer if status in (200, 422) else {"error": "not now"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def office(monkeypatch):
    with PostOffice() as office:
        # A user's file is run once, so the class that is found is another than the one above.
        found = PROVIDERS.find(f"{__file__}:Postcard")
        monkeypatch.setattr(found, "address", f"http://127.0.0.1:{office.server_port}/box")
        monkeypatch.setenv("POSTCARD_KEY", KEY)
        yield office


@pytest.fixture
def run(small_set, tmp_path):
    return mb.edit(small_set, "noise", tmp_path / "run", outputs=2)


def values(run):
    with run.ledger() as ledger:
        return {(row.case_id, row.k, row.metric): row.value for row in ledger.scores()}


def test_it_judges_once_and_keeps_its_answers(office, run, small_set, tmp_path):
    mb.score(run, [], NAME)
    found = values(run)
    assert len(found) == 16 and len(office.cards) == 8
    assert {metric: value for (_, _, metric), value in found.items()} == {
        "ea_postcard:tiny:7b": 0.6,
        "vq_postcard:tiny:7b": 0.9,
    }
    path, stamp, body = office.cards[0]
    assert (path, stamp, body["to"]) == ("/box/cards", KEY, "tiny:7b")
    assert body["lines"].count("<image/png>") == 3
    with run.ledger() as ledger:
        assert ledger.cost() == pytest.approx(8 * (30 * 100 + 5 * 1000) / 1e6)
    again = mb.edit(small_set, "noise", tmp_path / "again", outputs=2)
    mb.score(again, [], NAME)
    assert values(again) == found and len(office.cards) == 8
    third = mb.edit(small_set, "noise", tmp_path / "third", outputs=2)
    plan = estimate_judging([third], find_judge(NAME), JudgeLimits())
    assert (plan.calls, plan.cached, plan.cost) == (0, 8, 0)


def test_it_is_asked_again_where_that_helps(office, run):
    office.troubles = [503, 429, 500, 429]
    mb.score(run, [], NAME)
    assert len(values(run)) == 16 and None not in values(run).values()
    assert len(office.cards) == 8 + 4


def test_a_parameter_that_it_does_not_know_is_left_out(office, run):
    office.troubles = [422]
    client = find_client(NAME)
    with Caller(client) as caller:
        answer = caller.ask_one(Ask("Look.", ("x",), schema={"type": "object"}, seed=1))
    assert answer.without == ("schema", "seed")
    first, second = (body for _, _, body in office.cards)
    assert first["schema"] and not second["schema"] and "JSON Schema" in second["lines"][0]


def test_it_stops_before_the_money_is_spent(office, run):
    judge = find_judge(NAME)
    plan = estimate_judging([run], judge, JudgeLimits())
    one = (30 * 100 + 5 * 1000) / 1e6
    with pytest.raises(JudgeStoppedError, match="max-cost"):
        mb.score(run, [], judge, limits=JudgeLimits(max_cost=plan.most / 8 + 2 * one))
    assert len(office.cards) == 3 and len(values(run)) == 6
    mb.score(run, [], judge)
    assert len(office.cards) == 8


def test_a_dry_run_makes_no_call_and_needs_no_key(office, run, monkeypatch):
    monkeypatch.delenv("POSTCARD_KEY")
    result = CliRunner().invoke(app, ["score", str(run.path), "--judge", NAME, "--dry-run"])
    assert result.exit_code == 0 and "8 calls" in result.output, result.output
    assert office.cards == []
    with pytest.raises(NotReadyError, match="POSTCARD_KEY"):
        find_judge(NAME)


def test_a_refused_key_is_not_shown(office, run, capfd):
    office.troubles = [401] * 100
    with pytest.raises(JudgeStoppedError, match="HTTP 401"):
        mb.score(run, [], NAME)
    assert values(run) == {} and KEY not in "".join(capfd.readouterr())


def test_pictures_count_by_its_own_rule(office):
    client = find_client(NAME)
    words, shown = Ask("", ("x",)), Ask("", ("x", encode_for_model(draw(1))))
    assert client.estimate(shown).tokens_in == client.estimate(words).tokens_in + 7
    elsewhere = find_client(NAME, "https://models.example.org")
    assert elsewhere.price is None and client.price == Price(100.0, 1000.0)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("class P: vendor = 'p'", "subclass"),
        ("from medebench.models import Provider\nclass P(Provider): pass", "vendor"),
        ("from medebench.models import Provider\nclass P(Provider): vendor = 'openai'", "taken"),
    ],
)
def test_what_is_no_provider_is_told(code, problem, tmp_path):
    (tmp_path / "p.py").write_text(code)
    with pytest.raises(InputError, match=problem):
        find_client(f"{tmp_path / 'p.py'}:P:x")


def test_names():
    assert split_name("openai:qwen2:7b") == ("openai", "qwen2:7b")
    assert split_name("a/b.py:P:qwen2:7b") == ("a/b.py:P", "qwen2:7b")
    known = {"openai:x": True, "b.py:P:x": True, "b.py:Judge": False, "offline": False}
    assert {text: names_model(text) for text in known} == known

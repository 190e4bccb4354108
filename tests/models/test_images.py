"""Asking for pictures: over the wire, into the cache and out of it, and what they cost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.errors import InputError, NotReadyError
from medebench.models import (
    Answer,
    AnswerCache,
    Ask,
    Caller,
    Failure,
    Image,
    Limits,
    encode_for_model,
    find_client,
    find_image_client,
)
from medebench.models.answer_cache import key_of
from medebench.models.fault import find_fault
from medebench.models.model_lookup import find_provider
from tests.conftest import draw
from tests.models.drawing_server import DrawingServer, edited, encoded
from tests.models.server import FakeServer, always, in_turn
from tests.patience import PATIENCE, wait_until

KINDS = ["gemini", "openai-image"]
LOCAL = "http://localhost:1/v1"
PICTURE = encode_for_model(draw(1))
OTHER = encode_for_model(draw(2))
ASK = Ask("", ("Remove it.", OTHER, PICTURE), temperature=None, picture={})
IDENTITY = {"vendor": "openai", "model": "m", "url": "http://x/v1", "detail": "high"}
DRAWN = Answer("Here.", "m-1", 10, 5, 0.25, 1.5, "stop", images=(PICTURE, OTHER))


def caller_for(server, kind="gemini", model="model", **given):
    limits = {"timeout": PATIENCE, "attempts": 2, "refusals": 2, **given.pop("limits", {})}
    client = find_image_client(f"{kind}:{model}", server.base_url(kind))
    return Caller(client, limits=Limits(**limits), cache=AnswerCache(), seed=1, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_go_out_and_come_back(kind):
    with DrawingServer() as server, caller_for(server, kind) as caller:
        answer = caller.ask_one(ASK)
    (sent,) = server.calls
    assert sent.texts == ["Remove it."] and sent.images == [OTHER.data, PICTURE.data]
    assert "temperature" not in json.dumps(sent.body, default=str)
    (image,) = answer.images
    assert image.data == encoded(edited(PICTURE.data)) and image.mime == "image/png"
    assert (answer.finish, answer.without, answer.tokens_in) == ("stop", (), 300)
    assert answer.tokens_out == (1300 if kind == "gemini" else 1056)
    assert answer.model == ("gemini-test-001" if kind == "gemini" else "model")


def test_one_picture_is_no_list():
    with DrawingServer() as server, caller_for(server, "openai-image") as caller:
        caller.ask_one(replace(ASK, parts=("Remove it.", PICTURE)))
    assert set(server.calls[0].body) == {"image", "model", "prompt"}


def test_settings_of_the_picture_reach_the_vendor():
    wish = {"size": "1536x1024", "quality": "low", "input_fidelity": "high"}
    with DrawingServer() as server:
        with caller_for(server, "openai-image") as caller:
            caller.ask_one(replace(ASK, picture=wish))
        with caller_for(server) as caller:
            caller.ask_one(replace(ASK, picture={"image_size": "2K"}, temperature=0.5))
    first, second = (call.body for call in server.calls)
    assert {name: first[name] for name in wish} == wish
    config = second["generationConfig"]
    assert config["imageConfig"] == {"imageSize": "2K"} and config["temperature"] == 0.5
    assert config["responseModalities"] == ["TEXT", "IMAGE"]
    # Room for the words, and for the picture as well.
    assert config["maxOutputTokens"] == ASK.max_tokens + 1680


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("openai-image", "input_fidelity"),
        ("openai-image", "size"),
        ("gemini", "image_size"),
        ("gemini", "aspect_ratio"),
    ],
)
def test_a_setting_that_is_not_known_there_is_left_out_and_named(kind, name):
    ask = replace(
        ASK, picture={name: "high", "quality": "low"} if kind != "gemini" else {name: "2K"}
    )
    with DrawingServer(always(f"unknown:{name}")) as server, caller_for(server, kind) as caller:
        first = caller.ask_one(ask)
        second = caller.ask_one(replace(ask, repeat=1))
    assert first.without == second.without == (name,) and first.images
    assert len(server.calls) == 3


def test_thoughts_and_sketches_are_not_the_answer():
    with DrawingServer(always("sketch")) as server, caller_for(server) as caller:
        (image,) = caller.ask_one(ASK).images
    assert image.data == encoded(edited(PICTURE.data))


@pytest.mark.parametrize("kind", KINDS)
def test_refusals_are_answers_that_cost_no_picture(kind):
    with DrawingServer(always("refusal")) as server, caller_for(server, kind) as caller:
        answer = caller.ask_one(ASK)
    assert answer.finish == "refusal" and not answer.images and len(server.calls) == 1
    assert ("IMAGE_SAFETY" if kind == "gemini" else "by the safety system") in answer.text
    assert answer.cost == 0.0


def test_a_blocked_question_is_a_refusal():
    with DrawingServer(always("blocked")) as server, caller_for(server) as caller:
        answer = caller.ask_one(ASK)
    assert (answer.finish, answer.text) == ("refusal", "blocked: PROHIBITED_CONTENT")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("behaviour", "fault", "calls"),
    [
        ("400", "rejected", 1),
        ("401", "denied", 1),
        ("bad_key", "denied", 1),
        ("404", "missing", 1),
        ("500", "trouble", 2),
        ("empty", "broken", 2),
        ("nothing", "broken", 2),
        ("cut", "broken", 2),
        ("hang", "timeout", 2),
        ("429", "busy", 3),
    ],
)
def test_faults_are_told_apart(kind, behaviour, fault, calls):
    server = DrawingServer(always(behaviour), retry_after="0.01")
    limits = {"timeout": 1.0} if behaviour == "hang" else {}
    with server, caller_for(server, kind, limits=limits) as caller:
        failure = caller.ask_one(ASK)
        wait_until(lambda: len(server.calls) >= calls)
    assert isinstance(failure, Failure) and failure.kind == fault, failure
    assert len(server.calls) == calls


def test_a_quota_of_the_day_is_not_waited_for():
    class TooMany(Exception):
        code = 429

        def __init__(self, quota):
            violations = {"violations": [{"quotaId": quota}]}
            delay = {"retryDelay": "20s"}
            self.details = {"error": {"message": "quota", "details": [violations, delay]}}

    day, minute = (
        find_fault(TooMany(f"GenerateRequestsPer{span}PerProjectPerModel-FreeTier"))
        for span in ("Day", "Minute")
    )
    assert (day.kind, minute.kind, minute.wait) == ("quota", "busy", 20.0)


def test_threads_by_the_dozen_share_a_caller():
    asks = [replace(ASK, repeat=number) for number in range(96)]
    limits = {"start": 32, "most": 32}
    with (
        DrawingServer(together=9) as server,
        caller_for(server, limits=limits) as caller,
        ThreadPoolExecutor(32) as pool,
    ):
        answers = list(pool.map(caller.ask_one, asks))
    assert all(answer.images for answer in answers)
    assert len(server.calls) == 96 and 9 <= server.peak <= 32
    assert caller.gate.in_flight == 0 and caller.tally.calls == 96


def test_closing_frees_the_threads_that_wait():
    with DrawingServer(always("hang")) as server, ThreadPoolExecutor(8) as pool:
        caller = caller_for(server)
        waiting = [pool.submit(caller.ask_one, replace(ASK, repeat=n)) for n in range(8)]
        wait_until(lambda: len(server.calls) >= 8)
        caller.close()
        results = [one.result(timeout=PATIENCE) for one in waiting]
    assert {result.kind for result in results} == {"stopped"}


def test_pictures_are_kept_and_shared():
    with DrawingServer() as server:
        with caller_for(server) as caller:
            first = caller.ask_one(ASK)
        with caller_for(server) as caller:
            second = caller.ask_one(ASK)
            assert caller.plan([ASK]).calls == 0
    assert len(server.calls) == 1
    assert second == replace(first, cached=True, seconds=second.seconds)


def test_a_picture_after_which_the_words_break_off_is_kept():
    with DrawingServer(always("breaks_off")) as server, caller_for(server) as caller:
        assert caller.ask_one(ASK).finish == "length"
        assert caller.ask_one(ASK).cached
    assert len(server.calls) == 1


def test_what_is_not_good_is_not_kept():
    with (
        DrawingServer(in_turn("words", "ok")) as server,
        caller_for(server) as caller,
    ):
        for expected in (False, True):
            answer = caller.ask_one(ASK, lambda answer: bool(answer.images))
            assert bool(answer.images) == expected and not answer.cached
        assert caller.ask_one(ASK).cached
    assert len(server.calls) == 2


def test_there_and_back(tmp_path):
    cache = AnswerCache(tmp_path)
    cache.put("ab" * 32, DRAWN)
    assert cache.get("ab" * 32) == replace(DRAWN, cached=True)
    assert len(list(tmp_path.rglob("*.png"))) == 2


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "swapped"])
def test_an_answer_with_a_damaged_picture_is_a_miss(tmp_path, damage):
    cache = AnswerCache(tmp_path)
    cache.put("ab" * 32, DRAWN)
    first, second = sorted(tmp_path.rglob("*.png"))
    whole = first.read_bytes()
    if damage == "gone":
        first.unlink()
    else:
        changed = {"cut": whole[:-1], "changed": b"\0" + whole[1:], "swapped": second.read_bytes()}
        first.write_bytes(changed[damage])
    assert cache.get("ab" * 32) is None
    cache.put("ab" * 32, DRAWN)
    assert cache.get("ab" * 32) is not None


def test_keys_of_questions_for_words_are_what_they_were():
    """Answers that were paid for with the first release are found by later ones."""
    image = Image(b"\x89PNG pixels", "image/png")
    asks = [
        Ask("Judge.", ("before", image), schema={"type": "object"}, seed=3, repeat=2),
        Ask("", ()),
    ]
    # As written by a medebench that knew nothing of pictures.
    keys = ["dc22040f3fc03497", "b8d14ef852a35d5f"]
    assert [key_of(IDENTITY, ask)[:16] for ask in asks] == keys


WISHES = st.none() | st.dictionaries(st.sampled_from(["size", "quality"]), st.text(max_size=3))


@given(WISHES, WISHES)
def test_other_wishes_are_other_questions(one, other):
    keys = {key_of(IDENTITY, Ask("s", ("p",), picture=wish)) for wish in (one, other)}
    assert (len(keys) == 1) == (one == other)


@pytest.mark.parametrize(
    ("kind", "model", "wish", "expected"),
    [
        ("openai-image", "gpt-image-1", {"size": "1024x1024", "quality": "low"}, 272),
        ("openai-image", "gpt-image-1.5", {"size": "1024x1536", "quality": "medium"}, 1584),
        ("openai-image", "gpt-image-1-mini", {"size": "1536x1024", "quality": "high"}, 6208),
        ("openai-image", "gpt-image-1", {}, 6240),
        # Counts that others were billed for.
        ("openai-image", "gpt-image-2", {"size": "1024x1024", "quality": "high"}, 7024),
        ("openai-image", "gpt-image-2", {"size": "1536x1024"}, 5488),
        ("openai-image", "gpt-image-2.5-flare", {"size": "1792x1024", "quality": "high"}, 5063),
        ("openai-image", "gpt-image-2", {"size": "3584x2048"}, 12329),
        ("gemini", "gemini-2.5-flash-image", {}, 1290),
        ("gemini", "gemini-3-pro-image-preview", {"image_size": "4K"}, 2000),
        ("gemini", "gemini-nano-banana-2.1", {}, 1120),
    ],
)
def test_tokens_of_a_drawn_picture(kind, model, wish, expected):
    assert find_image_client(f"{kind}:{model}", LOCAL).drawn_tokens(wish) == expected


@pytest.mark.parametrize(
    ("model", "size", "fidelity", "expected"),
    [
        ("gpt-image-1", (1024, 1024), "low", 194),
        ("gpt-image-1", (512, 768), "low", 323),
        ("gpt-image-1.5", (1024, 1024), "high", 194 + 4160),
        ("gpt-image-2", (512, 512), "low", 1024),
        ("gpt-image-2", (4000, 4000), "low", 1536),
    ],
)
def test_tokens_of_a_picture_that_is_shown(model, size, fidelity, expected):
    client = find_image_client(f"openai-image:{model}", LOCAL)
    ask = replace(ASK, picture={"input_fidelity": fidelity})
    assert client.image_tokens(*size, ask) == expected


@pytest.mark.parametrize(
    ("kind", "model", "dollars"),
    [
        # 1120 tokens at $30, which is what this picture is said to cost.
        ("gemini", "gemini-nano-banana-2.1", 0.0336),
        ("gemini", "gemini-2.5-flash-image", 0.0387),
        ("gemini", "gemini-3-pro-image-preview", 0.1344),
        ("openai-image", "gpt-image-1.5", 0.0338),
        ("openai-image", "gpt-image-1-mini", 0.0084),
    ],
)
def test_an_estimate_counts_the_picture(kind, model, dollars, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "some-test-key")
    monkeypatch.setenv("OPENAI_API_KEY", "some-test-key")
    client = find_image_client(f"{kind}:{model}")
    wish = {} if kind == "gemini" else {"size": "1024x1024", "quality": "medium"}
    words = Ask("", ("Remove it.", PICTURE), max_tokens=1000, likely_tokens=10)
    drawn = replace(words, picture=wish)
    with_picture, without = client.estimate(drawn), client.estimate(words)
    assert with_picture.cost - without.cost == pytest.approx(dollars, abs=1e-4)
    assert with_picture.most > with_picture.cost


def test_the_servers_own_count_is_what_is_charged(monkeypatch, tmp_path):
    entry = {"in": 1, "out": 10, "image_in": 100, "image_out": 1000}
    prices = {"models": {"gemini:model": entry, "openai:model": entry}}
    (tmp_path / "p.json").write_text(json.dumps(prices))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "p.json"))
    with DrawingServer() as server:
        costs = []
        for kind in KINDS:
            with caller_for(server, kind) as caller:
                costs.append(caller.ask_one(ASK).cost * 1e6)
    gemini = (300 - 258) * 1 + 258 * 100 + (1300 - 1290) * 10 + 1290 * 1000
    assert costs == [pytest.approx(gemini), pytest.approx(106 * 1 + 194 * 100 + 1056 * 1000)]


def test_prices_of_pictures_are_checked_too(monkeypatch, tmp_path):
    (tmp_path / "p.json").write_text('{"models": {"x": {"in": 1, "out": 1, "image_out": "a"}}}')
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "p.json"))
    with pytest.raises(InputError, match="MEDEBENCH_PRICES"):
        find_client("openai:x", LOCAL)


def test_names_that_are_none():
    for text in ["openai:gpt-4o", "gemini:", "anthropic:x"]:
        with pytest.raises(InputError, match="openai-image:NAME"):
            find_image_client(text)
    with pytest.raises(InputError, match="anthropic:NAME"):
        find_client("openai-image:gpt-image-2")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_told_without_loading(kind, monkeypatch):
    import sys

    (line,) = find_provider(kind).problems()
    with pytest.raises(NotReadyError) as caught:
        find_image_client(f"{kind}:x")
    assert line == str(caught.value) and "_API_KEY" in line
    assert find_provider(kind).problems(LOCAL) == []
    package = {"gemini": "google.genai"}.get(kind, "openai")
    monkeypatch.setitem(sys.modules, package, None)
    (line,) = find_provider(kind).problems(LOCAL)
    assert "pip install 'medebench[judges]'" in line


def test_a_question_for_words_says_nothing_of_pictures():
    with FakeServer() as server:
        client = find_client("gemini:model", server.base_url("gemini"))
        with Caller(client, cache=AnswerCache()) as caller:
            assert caller.ask_one(Ask("", ("x",))).images == ()
    assert "responseModalities" not in json.dumps(server.calls[0].body)


def test_a_picture_is_not_changed_by_the_way():
    noise = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    sent = encode_for_model(noise)
    with DrawingServer() as server, caller_for(server, "openai-image") as caller:
        answer = caller.ask_one(Ask("", ("x", sent), temperature=None, picture={}))
    assert server.calls[0].images == [sent.data]
    assert answer.images[0].data == encoded(255 - noise)

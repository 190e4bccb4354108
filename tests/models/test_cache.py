"""Kept answers: found again, never confused, never half."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.models import Answer, AnswerCache, Ask, Image, Turn
from medebench.models.answer_cache import key_of
from tests.patience import PATIENCE

IDENTITY = {"vendor": "openai", "model": "m", "url": "http://x/v1", "detail": "high"}
ANSWER = Answer("text äöü \ud83d", "model-1", 10, 5, 0.25, 1.5, "stop", ("seed",))

TEXTS = st.text(max_size=8)
IMAGES = st.builds(Image, st.binary(max_size=8), st.sampled_from(["image/png", "image/jpeg"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ASKS = st.builds(
    Ask,
    system=TEXTS,
    parts=st.lists(TEXTS | IMAGES, max_size=3).map(tuple),
    schema=st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.integers(1, 5000),
    seed=st.none() | st.integers(),
    turns=st.lists(st.builds(Turn, TEXTS, TEXTS), max_size=2).map(tuple),
    repeat=st.integers(0, 5),
)


def canonical(ask: Ask) -> str:
    parts = [[p.data.hex(), p.mime] if isinstance(p, Image) else p for p in ask.parts]
    turns = [(turn.said, turn.reply) for turn in ask.turns]
    schema = json.dumps(ask.schema)
    rest = (ask.temperature, ask.max_tokens, ask.seed, ask.repeat)
    return repr((ask.system, parts, schema, turns, rest))


@given(ASKS, ASKS)
def test_equal_keys_mean_equal_questions(one, other):
    assert (key_of(IDENTITY, one) == key_of(IDENTITY, other)) == (
        canonical(one) == canonical(other)
    )


@given(ASKS, ASKS)
def test_any_change_of_any_field_changes_the_key(one, other):
    for field in fields(Ask):
        changed = replace(one, **{field.name: getattr(other, field.name)})
        same = field.name == "likely_tokens" or canonical(changed) == canonical(one)
        assert (key_of(IDENTITY, changed) == key_of(IDENTITY, one)) == same


@given(st.sampled_from(sorted(IDENTITY)), TEXTS)
def test_any_change_of_the_client_changes_the_key(name, value):
    changed = {**IDENTITY, name: value}
    ask = Ask("s", ("p",))
    assert (key_of(changed, ask) == key_of(IDENTITY, ask)) == (changed == IDENTITY)


def test_texts_cannot_run_into_each_other():
    keys = {
        key_of(IDENTITY, Ask(*given)) for given in [("a", ("b",)), ("ab", ()), ("", ("a", "b"))]
    }
    assert len(keys) == 3


def test_one_pixel_changes_the_key():
    one, other = (Image(bytes([n]) * 100, "image/png") for n in (1, 2))
    assert key_of(IDENTITY, Ask("", (one,))) != key_of(IDENTITY, Ask("", (other,)))


def test_there_and_back(tmp_path):
    cache = AnswerCache(tmp_path)
    key = key_of(IDENTITY, Ask("s", ("p",)))
    assert cache.get(key) is None
    cache.put(key, ANSWER)
    assert cache.get(key) == replace(ANSWER, cached=True)


@given(st.integers(0, 10_000), st.binary(max_size=3))
def test_damage_anywhere_is_a_miss(tmp_path_factory, where, replacement):
    cache = AnswerCache(tmp_path_factory.mktemp("cache"))
    key = "ab" * 32
    cache.put(key, ANSWER)
    path = cache.path(key)
    whole = path.read_bytes()
    where %= len(whole)
    damaged = whole[:where] + replacement + whole[where + 1 :]
    path.write_bytes(damaged)
    found = cache.get(key)
    assert found is None or found == replace(ANSWER, cached=True)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_answer_is_a_miss(tmp_path, content):
    cache = AnswerCache(tmp_path)
    path = cache.path("cd" * 32)
    path.parent.mkdir()
    path.write_bytes(content)
    assert cache.get("cd" * 32) is None
    cache.put("cd" * 32, ANSWER)
    assert cache.get("cd" * 32) is not None


def test_an_answer_under_another_name_is_a_miss(tmp_path):
    cache = AnswerCache(tmp_path)
    cache.put("ab" * 32, ANSWER)
    cache.path("ab" * 31 + "cd").write_bytes(cache.path("ab" * 32).read_bytes())
    assert cache.get("ab" * 31 + "cd") is None


def _write(folder, number):
    cache = AnswerCache(folder)
    for _ in range(100):
        cache.put("ab" * 32, replace(ANSWER, tokens_in=number, text="x" * 5000))
        assert cache.get("ab" * 32) is not None


def test_many_processes_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_write, args=(tmp_path, n)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(list((tmp_path / "ab").iterdir())) == 1

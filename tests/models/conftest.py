"""What the tests of the clients share: no keys but the test's own, and a cache for each test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medebench.models import Answer, AnswerCache, Ask, Caller, Failure, Limits, find_client
from medebench.models.model_lookup import PROVIDERS, find_provider
from tests.models.server import FakeServer
from tests.patience import PATIENCE

VENDORS = ["openai", "gemini", "anthropic"]
KEY_VARIABLES = {name: find_provider(name).key_variables for name in PROVIDERS.builtin}
PRICES = '{"models": {"openai:priced": {"in": 1000, "out": 1000}}}'


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for names in KEY_VARIABLES.values() for name in names] + ["MEDEBENCH_PRICES"]:
        monkeypatch.delenv(name, raising=False)
    for name in list(os.environ):
        if name.endswith("_BASE_URL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    # Tests are not patient; what servers ask for is waited for all the same.
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.05)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Caller]:
    """A Caller for a fake server; patient in nothing."""

    def make(server: FakeServer, name: str = "openai:model", **given: Any) -> Caller:
        limits = {"timeout": PATIENCE, "attempts": 4, **given.pop("limits", {})}
        client = find_client(name, server.base_url(name.partition(":")[0]))
        return Caller(client, limits=Limits(**limits), cache=AnswerCache(), seed=1, **given)

    return make


def asks(count: int, **given: Any) -> list[Ask]:
    return [Ask("Judge.", (f"ask-{number}",), **given) for number in range(count)]


def text_of(result: Answer | Failure) -> str:
    assert isinstance(result, Answer), result
    return result.text


def reason_of(result: Answer | Failure) -> str:
    assert isinstance(result, Failure), result
    return result.reason

"""Keys from the environment and from .env."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.errors import InputError, NotReadyError
from medebench.models import find_client
from medebench.models.api_keys import find_key, parse_env
from tests.models.conftest import KEY_VARIABLES, VENDORS

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
PLAIN = st.text(string.ascii_letters + string.digits + "-_./+=#:@%", min_size=1).filter(
    lambda value: not value.startswith("#")
)


@given(st.dictionaries(NAMES, PLAIN), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_plain_values(values, end, export):
    start = "export " if export else ""
    text = end.join(f"{start}{name} = {value}  # why" for name, value in values.items())
    assert parse_env("# a comment" + end + text) == values


@given(st.dictionaries(NAMES, st.text().filter(lambda v: not set(v) & set("'\r\n"))))
def test_single_quotes_are_literal(values):
    assert parse_env("\n".join(f"{n}='{v}'" for n, v in values.items())) == values


@given(st.dictionaries(NAMES, st.text()))
def test_double_quotes_can_hold_anything(values):
    def quoted(value):
        for plain, escaped in [("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")]:
            value = value.replace(plain, escaped)
        return f'"{value}"'

    assert parse_env("\n".join(f"{n}={quoted(v)} # x" for n, v in values.items())) == values


@given(st.text())
def test_any_file_can_be_read(text):
    assert all(isinstance(value, str) for value in parse_env(text).values())


def test_the_environment_comes_first(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("\ufeffOPENAI_API_KEY=from-file\n", "utf-8")
    assert find_key(KEY_VARIABLES["openai"]).reveal() == "from-file"
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert find_key(KEY_VARIABLES["openai"]).reveal() == "from-environment"


def test_both_of_googles_names(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert find_key(KEY_VARIABLES["gemini"]).reveal() == "second"
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    assert find_key(KEY_VARIABLES["gemini"]).reveal() == "first"


@pytest.mark.parametrize("vendor", VENDORS)
def test_without_a_key_one_line_names_the_variable(vendor):
    with pytest.raises(NotReadyError, match="_API_KEY") as caught:
        find_client(f"{vendor}:model")
    assert "\n" not in str(caught.value)


def test_a_far_server_needs_a_key_and_an_own_one_does_not():
    with pytest.raises(NotReadyError):
        find_client("openai:x", "https://models.example.org/v1")
    for url in [
        "http://localhost:1/v1",
        "https://10.0.0.7/v1",
        "http://[::1]:8/v1",
        "http://gpu:1",
    ]:
        find_client("openai:x", url)


def test_a_key_with_a_line_break_is_refused_without_being_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first\nsecond-half")
    with pytest.raises(NotReadyError) as caught:
        find_client("openai:x")
    assert "half" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "http://u:pw@:x/", ""])
def test_addresses_that_are_none(url, monkeypatch):
    if not url:
        monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    with pytest.raises(InputError, match="expected something like") as caught:
        find_client("openai:x", url or None)
    assert "pw" not in str(caught.value)

"""Nothing a user can see holds a key."""

from __future__ import annotations

import base64
import copy
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.models import Ask, Caller, Failure, Limits, Secret, find_client
from medebench.models.secret import Scrubber
from tests.models.conftest import KEY_VARIABLES, VENDORS, asks
from tests.models.server import FakeServer, always
from tests.patience import PATIENCE, wait_until

KEY = "kX7/private+Key=9q2Zr8Wv"
BEHAVIOURS = ["echo400", "echo401", "echo403", "echo404", "echo429", "echo500", "redirect"]
BEHAVIOURS += ["hang", "cut", "garbage", "empty", "drop", "quota", "refusal", "no_schema", "ok"]


def forms(secret: str) -> list[str]:
    twice = base64.b64encode(f"user:{secret}".encode()).decode()
    plain = base64.b64encode(secret.encode()).decode()
    return [secret, quote(secret, safe=""), json.dumps(secret)[1:-1], plain, twice[8:-6]]


def assert_clean(text: str, secret: str = KEY) -> None:
    for form in forms(secret):
        assert form not in text
    # Not even most of it.
    assert secret[:12] not in text and secret[-12:] not in text


def test_a_secret_does_not_show_itself():
    secret = Secret(KEY)
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret:>40}", repr({"k": [secret]})):
        assert_clean(shown)
        assert "***" in shown
    assert copy.deepcopy(secret).reveal() == KEY and secret == Secret(KEY)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps({"key": secret})


@given(st.text(min_size=8, max_size=40), st.text(), st.text())
def test_every_form_is_removed(value, before, after):
    scrub = Scrubber([Secret(value)])
    raw = value.encode("utf-8", "surrogatepass") if value.isprintable() else None
    if raw is None:
        return
    wrapped = [value, quote(value, safe=""), base64.b64encode(raw).decode(), raw.hex()]
    for form in wrapped:
        assert form not in scrub(f"{before}{form}{after}").replace("***", "\0")


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_it_is_found_inside_longer_base64(before, after):
    encoded = base64.b64encode(before + KEY.encode() + after).decode()
    scrubbed = Scrubber([Secret(KEY)])(f"Basic {encoded}")
    assert "***" in scrubbed
    kept = scrubbed.removeprefix("Basic ").replace("***", "")
    assert len(kept) <= len(encoded) - len(KEY) * 8 // 6 + 4


def test_keys_of_others_are_hidden_too():
    text = Scrubber()("Incorrect API key: sk-abcdef**********wxyz, AIzaSyA-123456789")
    assert "wxyz" not in text and "SyA" not in text


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_error_log_or_file_holds_the_key(vendor, monkeypatch, caplog, tmp_path):
    monkeypatch.setenv(KEY_VARIABLES[vendor][0], KEY)
    caplog.set_level(logging.DEBUG)
    seen = []
    for behaviour in BEHAVIOURS:
        with FakeServer(always(behaviour), retry_after="0.01") as server:
            client = find_client(f"{vendor}:{behaviour}", server.base_url(vendor))
            answer_with_key = lambda call: f"you sent {json.dumps(call.headers)}"  # noqa: E731
            server.answer = answer_with_key
            timeout = 1.0 if behaviour == "hang" else PATIENCE
            limits = Limits(timeout=timeout, attempts=2, refusals=1, longest_wait=1)
            with Caller(client, limits=limits) as caller:
                ask = Ask("", ("x",), schema={"type": "object"})
                seen += [repr(caller.ask_one(ask)), repr(caller.__dict__), repr(client.__dict__)]
            wait_until(lambda server=server: server.calls)
            sent = server.calls[0].headers
            assert KEY in "".join(sent.values())
    with caplog.at_level(logging.DEBUG):
        assert_clean("\n".join(seen))
        assert_clean(caplog.text)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    for path in written:
        assert_clean(path.read_text("utf-8"))


def test_no_traceback_holds_the_key(monkeypatch):
    import asyncio

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeServer(always("echo400")) as server:
        client = find_client("openai:x", server.base_url("openai"))

        async def ask() -> None:
            try:
                await client.ask(asks(1)[0], 5)
            finally:
                await client.close()

        with pytest.raises(Exception, match="HTTP 400") as caught:
            asyncio.run(ask())
    assert_clean("".join(traceback.format_exception(caught.value)))
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_login_in_the_address_is_used_and_not_shown(monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    password = "Tr0ub4dor-and-3"
    with FakeServer(always("echo400")) as server:
        url = (
            server.base_url("openai").replace("http://", f"http://ann:{password}@")
            + "?token=Q9z7Q9z7"
        )
        client = find_client("openai:x", url)
        with Caller(client) as caller:
            failure = caller.ask_one(asks(1)[0])
    assert isinstance(failure, Failure)
    (sent,) = server.calls
    login = base64.b64encode(f"ann:{password}".encode()).decode()
    assert sent.headers["authorization"] == f"Basic {login}" and "token=Q9z7Q9z7" in sent.path
    shown = failure.reason + repr(client.identity()) + repr(client.endpoint)
    assert_clean(shown, password)
    assert login not in shown and "Q9z7" not in shown
    assert password not in caplog.text


def test_a_subprocess_prints_no_key(tmp_path):
    code = (
        "import logging, sys; logging.basicConfig(level=logging.DEBUG)\n"
        "from medebench.models import *\n"
        "for vendor in ['openai', 'gemini', 'anthropic']:\n"
        "    base = sys.argv[1] + ('/v1' if vendor == 'openai' else '')\n"
        "    with Caller(find_client(vendor + ':x', base)) as caller:\n"
        "        result = caller.ask_one(Ask('', ('x',)))\n"
        "        print(result, vars(caller.client))\n"
        "        assert isinstance(result, Failure)\n"
    )
    keys = {name: KEY for names in KEY_VARIABLES.values() for name in names}
    with FakeServer(always("echo403")) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, server.url],
            env={**os.environ, **keys},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    assert len(server.calls) == 3
    assert_clean(done.stdout + done.stderr)


def test_the_package_itself_holds_no_key():
    import medebench.models

    for path in Path(medebench.models.__file__).parent.glob("*.*"):
        assert "sk-proj" not in path.read_text("utf-8")

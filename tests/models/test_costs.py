"""Prices and token counts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from medebench.errors import InputError
from medebench.models import Ask, encode_for_model, find_client
from medebench.models.api_keys import keys_optional
from medebench.models.endpoint import read_endpoint
from medebench.models.model_lookup import find_provider

LOCAL = "http://localhost:8000/v1"
OWN = "https://models.example.org/v1"


@pytest.mark.parametrize(
    ("vendor", "model", "size", "expected"),
    [
        # The rules worked out by hand.
        ("openai", "gpt-4o", (1024, 1024), 765),
        ("openai", "gpt-4o-2024-08-06", (2048, 4096), 1105),
        ("openai", "gpt-4o-mini", (512, 512), 2833 + 5667),
        ("openai", "gpt-4.1-mini", (1024, 1024), 1659),
        ("openai", "gpt-4.1", (768, 768), 765),
        # For the newer models, counts that others measured (less the text around the image).
        ("openai", "gpt-6-sol", (768, 768), 692),
        ("openai", "gpt-5.5", (256, 256), 77),
        ("anthropic", "claude-sonnet-5-5", (768, 768), 784),
        ("gemini", "gemini-2.5-flash", (384, 384), 258),
        ("gemini", "gemini-2.5-flash", (1024, 768), 516),
        ("gemini", "gemini-3.8-flash", (1024, 768), 1120),
        ("openai", "some-local-model", (512, 512), 255),
    ],
)
def test_images(vendor, model, size, expected):
    client = find_client(f"{vendor}:{model}", LOCAL)
    assert client.image_tokens(*size, Ask("", ())) == expected


def test_text_and_images_add_up():
    image = encode_for_model(np.zeros((100, 200, 3), np.uint8))
    assert image.size == (200, 100)
    client = find_client("openai:gpt-4o", LOCAL)
    bare = client.estimate(Ask("s" * 350, ("p",))).tokens_in
    assert 100 < bare < 130
    shown = client.estimate(Ask("s" * 350, ("p", image, image))).tokens_in
    assert shown == bare + 2 * 255


def price_of(name, base_url=None):
    with keys_optional():
        return find_client(name, base_url).price


def test_prices_by_name_and_date():
    price = price_of("openai:gpt-4o")
    assert price == price_of("openai:gpt-4o-2024-08-06")
    assert price.cost(1_000_000, 100_000) == pytest.approx(3.5)
    assert price_of("openai:gpt-4o-mini").per_million_in < price.per_million_in
    assert price_of("openai:gpt-4o-realtime") is None


def test_local_servers_are_free_and_resellers_unknown(tmp_path, monkeypatch):
    assert price_of("openai:gpt-4o", LOCAL).cost(10**6, 10**6) == 0
    assert price_of("openai:gpt-4o", OWN) is None
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"models": {"gpt-4o": {"in": 1, "out": 2}}}))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(path))
    assert price_of("openai:gpt-4o", OWN).per_million_out == 2
    assert price_of("openai:other", LOCAL).per_million_out == 0


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"models": {"x": 3}}', '{"models": {"x": {"in": -1, "out": 2}}}']
)
def test_price_files_that_are_wrong_are_named(content, tmp_path, monkeypatch):
    path = tmp_path / "p.json"
    path.write_text(content)
    monkeypatch.setenv("MEDEBENCH_PRICES", str(path))
    with pytest.raises(InputError, match="MEDEBENCH_PRICES"):
        find_client("openai:x", LOCAL)


def test_an_estimate_is_likely_and_at_most(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "some-test-key")
    client = find_client("openai:gpt-4o")
    estimate = client.estimate(Ask("s", ("p",), max_tokens=1000, likely_tokens=100))
    assert estimate.tokens_out == 100
    assert estimate.most - estimate.cost == pytest.approx(900 * 10 / 1e6)
    assert find_client("openai:unheard-of").estimate(Ask("s", ("p",))).cost is None


@pytest.mark.parametrize(
    ("url", "local"),
    [
        (LOCAL, True),
        ("http://127.0.0.1:1", True),
        ("http://192.168.1.9/v1", True),
        ("http://[::1]:80/v1", True),
        ("http://workstation.local/v1", True),
        ("http://vllm:8000/v1", True),
        ("https://8.8.8.8/v1", False),
        (OWN, False),
        ("https://localhost.example.org", False),
        ("http://[2001:4860:4860::8888]/v1", False),
    ],
)
def test_what_is_local(url, local):
    assert read_endpoint(url).is_local is local


def test_addresses_are_the_same_however_written():
    urls = {
        read_endpoint(f"http://{name}:8/v1{end}").url
        for name in ("HOST", "host")
        for end in ("", "/")
    }
    assert urls == {"http://host:8/v1"}
    openai = find_provider("openai")
    assert openai.find_endpoint().is_official
    assert openai.find_endpoint("https://api.openai.com/v1/").is_official

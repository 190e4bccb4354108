"""From `openai:gpt-4o` to a client."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from medebench.clients.ask import Client
from medebench.clients.endpoint import find_endpoint
from medebench.clients.keys import find_key, need_key
from medebench.clients.wire import LARGEST_ANSWER, LARGEST_TEXT
from medebench.errors import InputError, NotReadyError

#: Name -> where key and address are from, where the client is, which package it needs.
_TALKING = {
    "openai": ("openai", "medebench.clients.openai:OpenAIClient", "openai"),
    "gemini": ("gemini", "medebench.clients.gemini:GeminiClient", "google.genai"),
    "anthropic": ("anthropic", "medebench.clients.anthropic:AnthropicClient", "anthropic"),
}
_DRAWING = {
    "gemini": _TALKING["gemini"],
    "openai-image": ("openai", "medebench.clients.openai_image:OpenAIImageClient", "openai"),
}
VENDORS = tuple(_TALKING)


def find_client(
    text: str, base_url: str | None = None, settings: Mapping[str, Any] | None = None
) -> Client:
    """`openai:NAME`, `gemini:NAME` or `anthropic:NAME`, at `base_url` where one is given.

    Everything that is missing (package, key) is told here, before any work.
    """
    return _find(_TALKING, text, base_url, settings, LARGEST_TEXT)


def find_image_client(text: str, base_url: str | None = None) -> Client:
    """`gemini:NAME` or `openai-image:NAME`: a model that answers with pictures."""
    return _find(_DRAWING, text, base_url, None, LARGEST_ANSWER)


def image_client_problems(kind: str, base_url: str | None = None) -> list[str]:
    """What `find_image_client` would complain about; nothing is loaded or connected to."""
    vendor, _, package = _DRAWING[kind]
    found = [] if _is_installed(package) else [not_installed(package)]
    try:
        if find_endpoint(vendor, base_url).needs_key:
            need_key(vendor)
        else:
            find_key(vendor)
    except NotReadyError as error:
        found.append(str(error))
    return found


def _find(
    known: dict[str, tuple[str, str, str]],
    text: str,
    base_url: str | None,
    settings: Mapping[str, Any] | None,
    largest: int,
) -> Client:
    from medebench.clients.options import ClientOptions
    from medebench.settings import read_settings

    kind, _, model = text.partition(":")
    if kind not in known or not model.strip():
        names = ", ".join(f"{name}:NAME" for name in known)
        raise InputError(f"'{text}': expected one of {names}")
    vendor, place, _ = known[kind]
    options = read_settings(ClientOptions, dict(settings or {}), text)
    endpoint = find_endpoint(vendor, base_url)
    key = need_key(vendor) if endpoint.needs_key else find_key(vendor)
    module, _, name = place.partition(":")
    client: Client = getattr(importlib.import_module(module), name)(
        model.strip(), endpoint, key, options, largest
    )
    return client


def not_installed(package: str) -> str:
    return f"{package} is not installed; run: pip install 'medebench[judges]'"


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        # The package above it is not there.
        return False

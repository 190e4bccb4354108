"""From `openai:gpt-4o` to a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medebench.clients.ask import Client
from medebench.clients.endpoint import find_endpoint
from medebench.clients.keys import find_key, need_key
from medebench.errors import InputError

VENDORS = ("openai", "gemini", "anthropic")


def find_client(
    text: str, base_url: str | None = None, settings: Mapping[str, Any] | None = None
) -> Client:
    """`openai:NAME`, `gemini:NAME` or `anthropic:NAME`, at `base_url` where one is given.

    Everything that is missing (package, key) is told here, before any work.
    """
    from medebench.clients.options import ClientOptions
    from medebench.settings import read_settings

    vendor, _, model = text.partition(":")
    if vendor not in VENDORS or not model.strip():
        known = ", ".join(f"{name}:NAME" for name in VENDORS)
        raise InputError(f"'{text}': expected one of {known}")
    options = read_settings(ClientOptions, dict(settings or {}), text)
    endpoint = find_endpoint(vendor, base_url)
    key = need_key(vendor) if endpoint.needs_key else find_key(vendor)
    if vendor == "openai":
        from medebench.clients.openai import OpenAIClient

        return OpenAIClient(model.strip(), endpoint, key, options)
    if vendor == "gemini":
        from medebench.clients.gemini import GeminiClient

        return GeminiClient(model.strip(), endpoint, key, options)
    from medebench.clients.anthropic import AnthropicClient

    return AnthropicClient(model.strip(), endpoint, key, options)

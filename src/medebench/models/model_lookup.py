"""From `openai:gpt-4o` to a model that can be asked."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.entry import Entry
from medebench.errors import InputError, NotReadyError
from medebench.models.api_keys import need_key
from medebench.models.bounded_http import LARGEST_ANSWER, LARGEST_TEXT
from medebench.models.provider import Provider
from medebench.registry import Registry
from medebench.settings import split_name

_ROOM = "medebench.models.providers"
PROVIDERS = Registry(
    "provider",
    "medebench.providers",
    {
        "openai": f"{_ROOM}.openai:OpenAI",
        "gemini": f"{_ROOM}.gemini:Gemini",
        "anthropic": f"{_ROOM}.anthropic:Anthropic",
        "openai-image": f"{_ROOM}.openai_image:OpenAIImage",
    },
)


def find_client(text: str, base_url: str | None = None) -> Provider:
    """`openai:NAME` or `file.py:Provider:NAME`, at `base_url` if given.

    Everything that is missing (package, key) is told here, before any work.
    """
    return _find(text, "text", base_url, LARGEST_TEXT)


def find_image_client(text: str, base_url: str | None = None) -> Provider:
    """The same for a model that answers with pictures: `gemini:NAME`, `openai-image:NAME`."""
    return _find(text, "image", base_url, LARGEST_ANSWER)


def names_model(text: str) -> bool:
    """Whether `text` names a provider's model."""
    provider, model = split_name(text)
    return bool(model.strip()) if ".py:" in provider else provider in PROVIDERS.names()


def with_provider(name: str) -> str | None:
    """A bare model's name as it must be given, by the families that providers have prices of.

    >>> with_provider("gpt-4o"), with_provider("claude-next"), with_provider("offlin")
    ('openai:gpt-4o', 'anthropic:claude-next', None)
    """
    family = name.lower().partition("-")[0]
    for one in PROVIDERS.builtin:
        provider = find_provider(one)
        if "text" in provider.gives and family in {m.partition("-")[0] for m in provider.prices}:
            return f"{one}:{name}"
    return None


def find_provider(name: str) -> type[Provider]:
    found = PROVIDERS.find(name)
    if not (isinstance(found, type) and issubclass(found, Provider)):
        raise InputError(f"provider '{name}': is not a subclass of medebench.models.Provider")
    if not isinstance(getattr(found, "vendor", None), str):
        raise InputError(f"provider '{name}': vendor: is missing; set the name that ledgers show")
    if name not in PROVIDERS.builtin and found.vendor in PROVIDERS.builtin:
        raise InputError(f"provider '{name}': vendor: '{found.vendor}' is taken; choose another")
    return found


def _find(text: str, gives: str, base_url: str | None, largest: int) -> Provider:
    name, model = split_name(text)
    model = model.strip()
    known = ".py:" in name or name in PROVIDERS.names()
    provider = find_provider(name) if known and model else None
    if provider is None or gives not in provider.gives:
        fitting = [one for one in PROVIDERS.names() if gives in find_provider(one).gives]
        names = ", ".join(f"{one}:NAME" for one in fitting)
        bare = with_provider(text) if gives == "text" else None
        hint = f"; did you mean '{bare}'?" if bare else ""
        raise InputError(f"'{text}': expected one of {names}{hint}")
    return provider(model, base_url, largest)


@dataclass(frozen=True, repr=False, kw_only=True)
class ProviderEntry(Entry):
    """A provider in a list, with what its models can answer with."""

    gives: tuple[str, ...]


def list_providers() -> list[ProviderEntry]:
    """Who can be asked for a model: what comes before the colon in `openai:gpt-4o`.

    Returns:
        Providers, each with the variables its key is looked for in, and whether one is set.

    >>> [one.name for one in mb.list_providers()][:3]
    ['openai', 'gemini', 'anthropic']
    """
    return [_entry(name, find_provider(name)) for name in PROVIDERS.names()]


def _entry(name: str, provider: type[Provider]) -> ProviderEntry:
    keys = provider.key_variables
    problem = None
    try:
        _ = need_key(name, keys) if keys else None
    except NotReadyError as error:
        problem = str(error)
    return ProviderEntry(
        name=name,
        summary=f"models at {provider.address}" if provider.address else "models at your address",
        needs=keys[:1],
        problem=problem,
        gives=tuple(sorted(provider.gives)),
    )

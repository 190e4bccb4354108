"""All weights that can be asked for by name, those that systems load by default among them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from medebench.entry import Entry
from medebench.systems import SYSTEMS, system_class
from medebench.weights import KNOWN, Absent, find_weights
from medebench.weights.hub_cache import is_hub_id


@dataclass(frozen=True, repr=False, kw_only=True)
class WeightsEntry(Entry):
    """Weights in a list: where they come from, and where they lie if they are here."""

    #: In bytes; None where only the hub knows.
    size: int | None = None
    licence: str | None = None
    #: Id on the hub.
    hub: str | None = None
    package: dict[str, Any] | None = None
    by_hand: str = ""
    path: str | None = None
    #: How they were found.
    origin: str | None = None


def list_weights() -> list[WeightsEntry]:
    """The weights medebench knows, and the hub models that its systems load by default.

    Nothing is fetched and no network is asked.

    Returns:
        Weights with size, licence and source, and whether they are on this machine.

    >>> [one.name for one in mb.list_weights()][:2]
    ['lpips-alex', 'lpips-vgg']
    """
    return [_known(name) for name in KNOWN] + [
        WeightsEntry(name=name, summary=f"editor {', '.join(users)}", hub=name, **_where(name))
        for name, users in _loaded_by_default().items()
    ]


def _known(name: str) -> WeightsEntry:
    known = KNOWN[name]
    same = {one: getattr(known, one) for one in ("name", "summary", "size", "licence", "by_hand")}
    hub = known.hub.id if known.hub else None
    package = asdict(known.package) if known.package else None
    return WeightsEntry(**same, hub=hub, package=package, **_where(name))


def _where(name: str) -> dict[str, Any]:
    found = find_weights(name)
    if isinstance(found, Absent):
        return {"problem": found.problem}
    return {"path": str(found.path), "origin": found.origin}


def _loaded_by_default() -> dict[str, list[str]]:
    """Hub models, each with the systems that load it unless told otherwise."""
    found: dict[str, list[str]] = {}
    for name in SYSTEMS.builtin:
        fields = system_class(name).Settings.model_fields
        for setting in ("model", "lora", "config"):
            value = fields[setting].default if setting in fields else None
            if isinstance(value, str) and is_hub_id(value) and name not in found.get(value, ()):
                found.setdefault(value, []).append(name)
    return found

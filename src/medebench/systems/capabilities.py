"""A user's class as a system: misspelt capabilities are refused, one without our base gets it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from typing import Any

from medebench.errors import InputError
from medebench.outputs import PARTS
from medebench.systems.system import Editor, System

_BASES = (object, System, Editor)
CAPABILITIES = [one for one in dir(Editor) if not one.startswith("_")]
#: Of a class that knows nothing of us, a name so much like one of ours is taken for it.
_ALIKE = 0.85
#: Names shorter than this are one letter away from many other words ("rest" and "reset").
_LONG = 6
#: Endings that make another word of one ("closed", "batches", "generator").
_ENDINGS = "e?s|e?d|e?r|or|ing|ion|ions|led|ler|ling"
_OTHER_WORDS = ("identify", "entity", "regenerate", "degenerate", "enumerate")


def as_system(name: str, kind: Any) -> type[System]:
    """The class as a system, checked; `name` is what the user called it."""
    if not isinstance(kind, type) or not (writes(kind, "generate") or writes(kind, "edit")):
        raise InputError(f"system '{name}': has neither generate(request) nor edit(request)")
    for cls in kind.__mro__:
        if cls not in _BASES:
            _check_names(name, cls)
    found = _based(kind)
    gives = found.gives
    if not gives or not isinstance(gives, tuple | list) or not set(gives) <= set(PARTS):
        raise InputError(
            f"{noun(found)} '{name}': gives: expected ('image',), ('text',) or ('image', 'text')"
        )
    return found


def noun(kind: type[System]) -> str:
    return "editor" if issubclass(kind, Editor) else "system"


def verb(kind: type[System]) -> str:
    """What it is called by; a stranger's editor may have a `generate` of its own."""
    own = writes(kind, "generate") and not issubclass(kind, _Stranger)
    return "edit" if writes(kind, "edit") and not own else "generate"


def writes(kind: type, name: str) -> bool:
    """Whether the class has a method of this name that is not the base's."""
    found = getattr(kind, name, None)
    return callable(found) and all(found is not getattr(one, name, None) for one in _BASES)


class _Stranger:
    """Comes between a stranger's class and the base, whose constructor it knows nothing of."""

    def __init__(self, *given: Any, **named: Any) -> None:
        pass


def declares_parts(kind: type[System]) -> bool:
    """Whether the class says what it gives; a stranger's need not."""
    own = [one for one in kind.__mro__ if one not in _BASES]
    return not issubclass(kind, _Stranger) or any("gives" in vars(one) for one in own)


@cache
def _based(kind: type) -> type[System]:
    base = Editor if writes(kind, "edit") else System
    if issubclass(kind, base):
        return kind
    behind = (base,) if issubclass(kind, System) else (_Stranger, base)
    return type(kind.__name__, (kind, *behind), {"__module__": kind.__module__})


def _check_names(name: str, cls: type) -> None:
    ours = issubclass(cls, System)
    for own in vars(cls):
        if own.startswith("_") or own in (*CAPABILITIES, "settings"):
            continue
        near = [known for known in CAPABILITIES if _is_meant(own.lower(), known.lower())]
        meant = near or (get_close_matches(own, CAPABILITIES, 1, 0.75) if ours else [])
        if ours or meant:
            known = f"there are: {', '.join(CAPABILITIES)}"
            hint = f"did you mean '{meant[0]}'?" if meant else known
            raise InputError(
                f"system '{name}': '{own}' in {cls.__name__} is no capability of a system; {hint} "
                "(names of your own begin with _)"
            )


def _is_meant(own: str, known: str) -> bool:
    """`prepair` is, `closed` is not: that is another word."""
    if sorted(own.replace("_", "")) == sorted(known.replace("_", "")):
        return True
    stem = known.removesuffix("e")
    inflected = "_" not in known and re.fullmatch(f"({known}|{stem})({_ENDINGS})", own)
    if len(known) < _LONG or inflected or own in _OTHER_WORDS:
        return False
    return SequenceMatcher(None, own, known).ratio() >= _ALIKE

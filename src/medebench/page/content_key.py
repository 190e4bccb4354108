"""Keys of results: what they are worked out from, and by which code."""

from __future__ import annotations

import hashlib
import io
import platform
import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import polars as pl

import medebench

#: What works out numbers or draws beside our own code.
_OTHERS = ("numpy", "polars", "scipy", "matplotlib", "fonttools")


def content_key(*parts: object) -> str:
    """Alike for the same content, worked on by the same code; a part of unknown kind fits nothing.

    >>> content_key({"a": (1, None)}, {"x", "y"}) == content_key({"a": (1, None)}, {"y", "x"})
    True
    >>> content_key(object()) == content_key(object())
    False
    """
    digest = hashlib.sha256(_code().encode())
    _feed(digest.update, parts)
    return digest.hexdigest()


def _feed(put: Callable[[bytes], None], value: object) -> None:
    kind = type(value).__name__.encode()
    if value is None or isinstance(value, str | bytes | int | float):
        # The length keeps apart what would run together.
        text = repr(value).encode()
        put(b"%s %d %s\n" % (kind, len(text), text))
    elif isinstance(value, pl.DataFrame):
        stream = io.BytesIO()
        value.rechunk().write_ipc(stream, compat_level=pl.CompatLevel.oldest())
        put(b"frame %d\n" % stream.tell() + stream.getvalue())
    elif isinstance(value, np.ndarray):
        _feed(put, (str(value.dtype), value.shape, value.tobytes()))
    elif isinstance(value, Mapping):
        put(b"%s %d\n" % (kind, len(value)))
        for key, one in value.items():
            _feed(put, key)
            _feed(put, one)
    elif isinstance(value, tuple | list | AbstractSet):
        put(b"%s %d\n" % (kind, len(value)))
        for one in sorted(value, key=repr) if isinstance(value, AbstractSet) else value:
            _feed(put, one)
    elif is_dataclass(value):
        put(b"%s {\n" % kind)
        for field in fields(value):
            _feed(put, getattr(value, field.name))
    else:
        put(uuid.uuid4().bytes)


@cache
def _code() -> str:
    """Changes with our code and with the libraries that it works with."""
    found = [medebench.__version__, platform.python_version()]
    for name in _OTHERS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    root = Path(medebench.__file__).parent
    digest = hashlib.sha256("\n".join(found).encode())
    for path in sorted(p for ending in ("py", "json") for p in root.rglob(f"*.{ending}")):
        digest.update(f"\n{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()

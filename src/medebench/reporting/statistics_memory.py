"""The statistics of the earlier report in the same folder, as long as nothing they are made from
has changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from medebench.files import read_bytes
from medebench.page.page_folder import Folder
from medebench.reporting.collect import Material
from medebench.reporting.statistics import Statistics, case_values, compute
from medebench.reporting.steering import is_blind

NAME = ".medebench-statistics.json"


def what_counts(material: Material) -> tuple[object, ...]:
    """All of the material that statistics and their figures are made from."""
    task = material.task
    entries = [
        (one.name, one.index, one.control, [is_blind(one, score) for score in material.scores])
        for one in material.entries
    ]
    about = (
        task.name,
        task.headline,
        task.alone,
        material.groups,
        material.failures,
        material.shared,
    )
    return (*about, entries, material.scores, material.frame)


def recall_or_compute(
    material: Material, folder: Folder, workers: int | None, key: str
) -> Statistics:
    """`key` is that of `what_counts`."""
    if (known := _recalled(material, folder, key)) is not None:
        return known
    found = compute(material, workers)
    content = {"key": key, "statistics": plain(replace(found, values={}))}
    folder.write(NAME, json.dumps(content, ensure_ascii=False, separators=(",", ":")))
    return found


def _recalled(material: Material, folder: Folder, key: str) -> Statistics | None:
    """None where there is no memory, or one of something else, or one that cannot be understood."""
    try:
        content = json.loads(read_bytes(folder.path / NAME))
        if content["key"] != key:
            return None
        known: Statistics = restorer(Statistics)(content["statistics"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    folder.keep(NAME)
    return replace(known, values=case_values(material))


def plain(value: Any) -> Any:
    """As JSON takes it: dataclasses and mappings as lists, so that keys may be tuples.

    >>> from medebench.analysis.estimate import Estimate
    >>> plain({("a", 1): Estimate(0.5)})
    [[['a', 1], [0.5, None, 0, 0, '', None]]]
    """
    if is_dataclass(value):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return [[plain(key), plain(one)] for key, one in value.items()]
    if isinstance(value, frozenset):
        return sorted(value)
    return [plain(one) for one in value] if isinstance(value, tuple | list) else value


@cache
def restorer(kind: Any) -> Callable[[Any], Any]:
    """Makes an object of the type `kind` from what `plain` made of it."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        [some] = [restorer(one) for one in args if one is not NoneType]
        return lambda value: None if value is None else some(value)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        every = [restorer(one) for one in get_type_hints(kind).values()]
        return lambda value: kind(*(f(one) for f, one in zip(every, value, strict=True)))
    if origin is dict:
        key, content = map(restorer, args)
        return lambda value: {key(name): content(one) for name, one in value}
    if origin is tuple and args[-1] is not ...:
        each = [restorer(one) for one in args]
        return lambda value: tuple(f(one) for f, one in zip(each, value, strict=True))
    if origin in (tuple, list, frozenset):
        same = restorer(args[0])
        return lambda value: origin(map(same, value))
    return lambda value: value

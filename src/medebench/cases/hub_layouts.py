"""Which files of a dataset repository are a set of cases: by the names that are there."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from medebench.cases.medgen_names import RELEASED, Format, format_of
from medebench.cases.readers.medebench_release import METADATA
from medebench.cases.readers.medgen_folder import DATA, MANIFEST
from medebench.errors import InputError

Layout = Literal["parquet", "jsonl"]
#: About a set, wherever they stand at the top.
_TEXTS = re.compile(r"(?i:readme|licen.e|notice)[^/]*$")
_SHARD = re.compile(r"(?:[^/]+/)?([^/]+)/[^/]+\.parquet$")


@dataclass(frozen=True)
class Choice:
    """What of a set is wanted: some of its formats, in one of its layouts."""

    formats: tuple[Format, ...] = ()
    layout: Layout | None = None

    @classmethod
    def read(cls, parts: Sequence[str] = (), layout: str | None = None) -> Choice:
        """From what a person writes."""
        found = [(part, format_of(part)) for part in parts if part.strip()]
        if unknown := [part for part, form in found if form is None]:
            there = ", ".join(RELEASED)
            raise InputError(f"part '{unknown[0][:40]}': no format of MedGEN-Bench; {there} are")
        if layout is not None and layout not in get_args(Layout):
            raise InputError(f"layout '{layout[:40]}': expected {' or '.join(get_args(Layout))}")
        chosen = {form for _, form in found}
        formats = tuple(form for form in RELEASED if form in chosen)
        return cls(formats, layout)  # type: ignore[arg-type]

    def told(self) -> dict[str, Any]:
        """For the note beside the files; a whole set says nothing."""
        parts = {"parts": list(self.formats)} if self.formats else {}
        return parts | ({"layout": self.layout} if self.layout else {})

    def takes(self, name: str) -> bool:
        form = format_of(name)
        return form is not None and (not self.formats or form in self.formats)


def wanted_files(names: Collection[str], choice: Choice, label: str, note: str) -> set[str]:
    """The files of the set among all of a repository; `note` is a file that we write ourselves."""
    found = _medebench(names) or _medgen(names, choice)
    if not found:
        what = " in that choice" if choice.told() else ""
        raise InputError(
            f"{label}: not laid out like MedEBench or MedGEN-Bench{what}: no editing/{METADATA}, "
            f"{MANIFEST} or <format>/*.parquet"
        )
    if choice.told() and METADATA in {name.rpartition("/")[2] for name in found}:
        raise InputError(f"{label}: has no parts or layouts to choose from; leave them out")
    return (found | {name for name in names if _TEXTS.match(name)}) - {note}


def _medebench(names: Collection[str]) -> set[str]:
    top = next((top for top in ("editing/", "") if top + METADATA in names), None)
    if top is None:
        return set()
    return {name for name in names if re.match(rf"(?!(.*/)?generated_images/){top}", name)}


def _medgen(names: Collection[str], choice: Choice) -> set[str]:
    shards = {name for name in names if (at := _SHARD.match(name)) and choice.takes(at[1])}
    folders = {name for name in names if choice.takes(name.partition("/")[0])} - shards
    lines = folders if any(name.endswith(f"/{DATA}") for name in folders) else set()
    # A few shards come in minutes, ten thousand single files do not.
    if choice.layout == "parquet" or (shards and choice.layout is None):
        return shards
    return lines | ({MANIFEST} & set(names)) if lines else set()

"""Results that another harness wrote into one file, a record for each output.

As the reference of MedGEN-Bench writes them: `sample_id`, `response`, `output_image`. A record
belongs to the case whose sample id it names; its place in the file means nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases import Case, CaseSet
from medebench.cases.medgen_names import format_of
from medebench.cases.readers.metadata_files import read_records
from medebench.errors import InputError, one_line
from medebench.outputs import Part
from medebench.outputs.output_files import MOST_TEXT
from medebench.reason import Reason
from medebench.runs.stages.adopted_outputs import AdoptedFiles
from medebench.tasks import find_task
from medebench.tasks.medgen_tasks import find_medgen_task

#: Files that hold results rather than one output.
RESULTS = (".jsonl", ".json")
#: More than the answers of the whole benchmark with all that the reference adds to them.
MOST_BYTES = 1 << 29
#: Who the reference says has failed, where it stores an error in the place of an answer.
_FAILED = re.compile(r"\s*(?:VLM|Parsing|Edit|Generation|Inference|API) Error\b")
_FIELDS: Mapping[Part, str] = {"image": "output_image", "text": "response"}
_MOST_PATH = 1000


@dataclass(frozen=True)
class Matched:
    """What there is of which output, and what belongs to no case."""

    files: AdoptedFiles
    unmatched: list[str]
    #: Records that say again what an earlier one said.
    repeated: int = 0


@dataclass(frozen=True)
class _Record:
    line: int
    values: Mapping[str, Any]

    def same(self, other: _Record) -> bool:
        return all(self.values.get(name) == other.values.get(name) for name in _FIELDS.values())


def is_results(path: Path) -> bool:
    """Whether this names a file of results rather than a folder of outputs."""
    return path.suffix.lower() in RESULTS and not path.is_dir()


def match_results(path: Path, cases: CaseSet) -> Matched:
    """By case id, the text and the image that the file names, or why there is none."""
    known = _known(cases)
    found: dict[str, list[_Record]] = {}
    unmatched: list[str] = []
    for record in _records(path):
        named = _name(record)
        case_id = known.get(canonical(named)) if named else None
        if case_id is None:
            unmatched.append(named or f"record {record.line}")
        else:
            found.setdefault(case_id, []).append(record)
    if not found:
        raise InputError(_no_match(path, unmatched, cases))
    task, root = find_task(cases.task), _Root(path)
    files: AdoptedFiles = {}
    repeated = 0
    for case_id, some in found.items():
        gives = task.of(cases[case_id]).gives
        differ = any(not one.same(some[0]) for one in some[1:])
        repeated += 0 if differ else len(some) - 1
        twice = Reason("unreadable", f"{len(some)} records of this sample_id differ; keep one")
        parts = {part: twice if differ else _part(root, some[0], part) for part in gives}
        files[case_id] = {0: parts}
    return Matched(files, unmatched, repeated)


def canonical(sample_id: str) -> str:
    """A sample id without what differs between releases.

    >>> canonical("tableiv:ImageEditing:dye_transfer:000012")
    'editing-style-transfer-000012'
    >>> canonical("medgen:VQA:multiple-choice:000012")
    'vqa-multiple-choice-000012'
    """
    text = sample_id.strip()
    parts = re.sub(r"^(?:tableiv|medgen):", "", text, flags=re.IGNORECASE).split(":")
    if len(parts) == 3:
        form, task = format_of(parts[0]), find_medgen_task(parts[1])
        if form is not None and task is not None:
            return f"{form}-{task.name}-{parts[2].strip()}"
    return ":".join(parts).casefold()


def _known(cases: CaseSet) -> dict[str, str]:
    """Case ids by every name that a record may call them."""
    known: dict[str, str] = {}
    for case in cases:
        for name in {canonical(one) for one in _names(case)}:
            if (other := known.setdefault(name, case.id)) != case.id:
                raise InputError(
                    f"{cases.name}: cases '{other}' and '{case.id}' have the same sample_id, "
                    f"'{name}'; results cannot be told apart: repair the set"
                )
    return known


def _names(case: Case) -> Iterator[str]:
    yield case.id
    named = case.extra.get("sample_id")
    if isinstance(named, str) and named.strip():
        yield named


def _records(path: Path) -> Iterator[_Record]:
    for line, values in enumerate(read_records(path, MOST_BYTES), start=1):
        if not isinstance(values, dict):
            raise InputError(
                f"{path}, record {line}: expected an object with sample_id and response"
            )
        yield _Record(line, values)


def _name(record: _Record) -> str:
    """What the record says it is about; nothing where it does not say."""
    given = record.values.get("sample_id", record.values.get("id"))
    return one_line(given, 200) if isinstance(given, str) and given.strip() else ""


def _part(root: _Root, record: _Record, part: Part) -> Path | str | Reason:
    """The text, the path of the image, or why there is none."""
    name = _FIELDS[part]
    value = record.values.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or (isinstance(value, str) and not value.strip()):
        return Reason("no-output", f"{name} is empty")
    if not isinstance(value, str):
        return Reason("unreadable", f"{name} is a {type(value).__name__}, not a text")
    if _FAILED.match(value):
        return Reason("error", one_line(value))
    return _text(value) if part == "text" else root.file(record.line, value)


def _text(value: str) -> str | Reason:
    if len(value) > MOST_TEXT:
        return Reason("unreadable", f"response is longer than {MOST_TEXT:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        return Reason("unreadable", "response holds half of a surrogate pair")
    return value


class _Root:
    """The folder of the results file: images lie in it, or are refused."""

    def __init__(self, results: Path) -> None:
        self._results, self._real = results, results.parent.resolve()

    def file(self, line: int, given: str) -> Path | Reason:
        if "\0" in given or len(given) > _MOST_PATH:
            return Reason("unreadable", "output_image is not a path")
        path = Path(os.path.normpath(self._results.parent / given.replace("\\", "/")))
        try:
            if not path.resolve().is_relative_to(self._real):
                raise InputError(
                    f"{self._results}, record {line}: output_image: {one_line(given, 120)!r} "
                    "leaves the folder of the file; put the images beside it and name them "
                    "relative to it"
                )
            if not path.is_file():
                return Reason("missing-file", f"output_image: {one_line(given, 120)}: no such file")
        except (OSError, RuntimeError) as error:
            return Reason("unreadable", one_line(f"output_image: {error}"))
        return path


def _no_match(path: Path, unmatched: list[str], cases: CaseSet) -> str:
    """What the records are called, and what the cases are."""
    ids = ", ".join(f"'{next(iter([*_names(case)][1:]), case.id)}'" for case in cases.cases[:2])
    if not unmatched:
        return f"{path}: has no records"
    if all(one.startswith("record ") for one in unmatched):
        seen = "no record has a sample_id, and none is matched by its position"
    else:
        seen = f"it has '{unmatched[0]}'"
    more = ", ..." if len(cases) > 2 else ""
    return (
        f"{path}: no record is about a case of {cases.name}: {seen}; the cases are {ids}{more}; "
        "name each record's case in sample_id"
    )

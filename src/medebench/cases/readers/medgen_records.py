"""One record of MedGEN-Bench, in whichever of its spellings, as a case."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet, Problem
from medebench.cases.medgen_names import (
    ON_REFERENCE,
    OTHER,
    RELEASED,
    TASK_FORMATS,
    Format,
    format_of,
    modality_of,
    task_name,
)
from medebench.cases.readers.medgen_boxes import Box, box_mask
from medebench.cases.readers.medgen_fields import (
    bounded_text,
    box_of,
    choices_in,
    choices_of,
    key_of,
    report_sections,
    report_text,
)
from medebench.cases.readers.record_values import BadRecord, RecordFiles, kind_of_value, valid_text

#: The task of the sets that are read here.
TASK = "medgen"
MOST_IMAGES = 64
MOST_RECORDS = 100_000
#: `tableiv:VQA:multiple-choice:000012`, as an evaluation view names its records.
_SAMPLE = re.compile(r"[a-z]+:([^:]+):([^:]+):(\d{1,9})")
#: Keys that became a field of the case; the others stay in `extra`.
_USED = {
    *("instruction", "modality", "recorded_modality", "canonical_modality", "sample_id"),
    *("paper_format", "format", "paper_task", "paper_subtask", "observed_subtask"),
    *("named_subtask", "subtask", "sub-category", "task", "input_image", "input_images"),
    *("input_files", "ground_truth_image", "ground_truth_images", "reference_files"),
    *("output_images", "metadata"),
}


@dataclass(frozen=True)
class Place:
    """Where a record stands, and what follows from that."""

    #: For messages: the file within the set, and the line or row.
    where: str
    files: RecordFiles
    #: What the folder, the file or the configuration says.
    format: str = ""
    task: str = ""
    #: Its number among the records of its task, from 1; 0 where only counting can tell.
    number: int = 0
    #: What the published scripts call it, where it does not say.
    sample_id: str = ""


@dataclass
class MedgenSet:
    """Cases and problems as they are gathered, record by record."""

    cases: list[Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)

    def add(self, record: Any, place: Place) -> None:
        """A case of this record, or the problem with it."""
        label = f"record {len(self.cases) + len(self.problems) + 1}"
        try:
            if len(self._seen) >= MOST_RECORDS:
                raise BadRecord("bad-record", "", f"comes after {MOST_RECORDS:,} others; split it")
            case = self._case(record, place)
            label = case.id
            if case.id in self._seen:
                raise BadRecord("duplicate-id", "sample_id", "is already used by another record")
            self._seen.add(case.id)
            self.cases.append(case)
        except BadRecord as bad:
            self.refuse(bad, label, place.where)

    def refuse(self, bad: BadRecord, label: str, where: str) -> None:
        self.problems.append(Problem(bad.code, label, bad.field, bad.message, where))

    def done(self, name: str, root: Path, source: str) -> CaseSet:
        return CaseSet(name, root, tuple(self.cases), source, tuple(self.problems), TASK)

    def _case(self, record: Any, place: Place) -> Case:
        if not isinstance(record, dict):
            raise BadRecord("bad-record", "", f"expected an object, found {kind_of_value(record)}")
        task = _task(record, place)
        self._counts[task] += 1
        number = _number(record, task) or place.number or self._counts[task]
        return medgen_case(record, place, task, number)


def medgen_case(record: Mapping[str, Any], place: Place, task: str, number: int) -> Case:
    """The case of a record of this task."""
    form = TASK_FORMATS[task]
    metadata = _metadata(record.get("metadata"))
    previous, further, sheet = _inputs(record, place, task)
    reference = None if form == "vqa" else _target(record, place)
    if form != "vqa" and further:
        raise BadRecord("bad-field", "input_image", f"{task} starts from one image, not from more")
    instruction = _instruction(record)
    told: dict[str, Any] = {}
    answer = _answer(record, form, task, metadata, told)
    box: Box | None = None
    if form != "vqa" and metadata.get("bbox") is not None:
        told["bbox"] = box = box_of(metadata["bbox"])
    recorded, modality = _modality(record)
    subtask = _first_text(record, "paper_subtask", "observed_subtask", "named_subtask", "subtask")
    extra = {str(key): value for key, value in record.items() if key not in _USED}
    extra |= {"sample_id": _sample_id(record, place), "recorded_modality": recorded, **told}
    extra |= {"metadata": metadata} if metadata else {}
    extra |= {"contact_sheet": sheet} if sheet else {}
    return Case(
        id=f"{form}-{task}-{number:06d}",
        previous=previous,
        prompt=instruction,
        task=task,
        reference=reference,
        roi=None if box is None else box_mask(previous, box),
        modality=modality,
        images={f"input{place}": path for place, path in enumerate(further, start=2)},
        choices=_choices(record, instruction) if task == "multiple-choice" else (),
        answer=answer,
        key=key_of(metadata) if task == "question-answering" else "",
        grid="reference" if task in ON_REFERENCE and reference else "previous",
        groups={"format": form} | ({"subtask": subtask} if subtask else {}),
        extra=extra,
    )


def _task(record: Mapping[str, Any], place: Place) -> str:
    """The record's task; one that only names its format says more in `sub-category`."""
    form = _format(record, place)
    given = [
        (name, valid_text(name, record[name]).strip())
        for name in ("paper_task", "task", "sub-category")
        if record.get(name) is not None
    ]
    sample = _SAMPLE.fullmatch(str(record.get("sample_id") or ""))
    given += [("sample_id", sample[2] if sample else ""), ("folder", place.task)]
    named = [(name, text) for name, text in given if text and format_of(text) is None]
    if not named:
        raise BadRecord("missing-field", "paper_task", "is missing; name one of the 16 tasks")
    name, text = named[0]
    task = task_name(text)
    if task is None:
        known = ", ".join(TASK_FORMATS)
        problem = f"'{text[:60]}' is no task of MedGEN-Bench; there are: {known}"
        raise BadRecord("bad-field", name, problem)
    if form is not None and TASK_FORMATS[task] != form:
        problem = f"'{task}' is a task of {RELEASED[TASK_FORMATS[task]]}, not of {RELEASED[form]}"
        raise BadRecord("bad-field", name, f"{problem}; correct one of them")
    return task


def _format(record: Mapping[str, Any], place: Place) -> Format | None:
    """As the record says, else as its file does. The older `category` cannot be relied upon."""
    for name in ("paper_format", "format"):
        if record.get(name) is not None:
            text = valid_text(name, record[name]).strip()
            if (found := format_of(text)) is not None:
                return found
            raise BadRecord(
                "bad-field",
                name,
                f"'{text[:60]}' is no format; there are: {', '.join(RELEASED.values())}",
            )
    return format_of(place.format)


def _number(record: Mapping[str, Any], task: str) -> int:
    """Its number among the records of its task as the record tells it, or 0."""
    sample = _SAMPLE.fullmatch(str(record.get("sample_id") or ""))
    if sample and task_name(sample[2]) == task:
        return int(sample[3])
    adapter = record.get("eval_adapter")
    line = _count(adapter.get("source_line")) if isinstance(adapter, dict) else None
    index = _count(record.get("record_index_within_task_file"))
    return line or (0 if index is None else index + 1)


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6
    return int(value) if whole else None


def _sample_id(record: Mapping[str, Any], place: Place) -> str:
    given = record.get("sample_id")
    if given is None:
        return place.sample_id
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)[:200]
    text = valid_text("sample_id", given)
    if len(text) > 1000:
        raise BadRecord("bad-field", "sample_id", "is longer than 1,000 characters")
    return text


def _instruction(record: Mapping[str, Any]) -> str:
    given = record.get("instruction")
    text = "" if given is None else bounded_text("instruction", given)
    if not text:
        raise BadRecord("missing-field", "instruction", "is missing or empty")
    return text


def _answer(
    record: Mapping[str, Any],
    form: Format,
    task: str,
    metadata: Mapping[str, Any],
    told: dict[str, Any],
) -> str:
    """The reference text; sections of a report are told beside it. An edit has none."""
    value = record.get("answer")
    if form == "editing":
        return ""
    if isinstance(value, str) and task == "report-generation" and value.strip()[:1] == "{":
        value = _object(value) or value
    if isinstance(value, dict):
        told["report_sections"] = sections = report_sections("answer", value)
        text = report_text(sections)
        return bounded_text("answer", text)
    recorded = metadata.get("report_sections")
    if isinstance(recorded, dict) and recorded:
        told["report_sections"] = report_sections("metadata.report_sections", recorded)
    return "" if value is None else bounded_text("answer", value)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _choices(record: Mapping[str, Any], instruction: str) -> tuple[str, ...]:
    for name in ("choice", "choices", "options"):
        if record.get(name):
            return choices_of(name, record[name])
    return choices_in(instruction)


def _metadata(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.strip():
        value = _object(value) or value
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise BadRecord(
            "bad-field", "metadata", f"expected an object, found {kind_of_value(value)}"
        )
    return value


def _modality(record: Mapping[str, Any]) -> tuple[str, str]:
    """As recorded, and as one of the six."""
    recorded = _first_text(record, "recorded_modality", "modality", "canonical_modality")
    found = modality_of(recorded)
    if found == OTHER:
        found = modality_of(_first_text(record, "canonical_modality"))
    return recorded, found


def _first_text(record: Mapping[str, Any], *names: str) -> str:
    for name in names:
        if record.get(name) is not None and (text := bounded_text(name, record[name])):
            return text
    return ""


def _inputs(record: Mapping[str, Any], place: Place, task: str) -> tuple[Path, list[Path], int]:
    """The first image, the further ones, and how many a contact sheet stands for (0: none).

    An evaluation view shows several images as one sheet; where they are there, they are taken.
    """
    offered = [
        ("input_images", _names("input_images", record.get("input_images"))),
        *((("eval_adapter.original_input_image", names)) for names in _originals(record, task)),
        ("input_image", _names("input_image", record.get("input_image"))),
        ("input_files", _names("input_files", record.get("input_files"))),
    ]
    offered = sorted(
        [(name, values) for name, values in offered if values], key=lambda one: -len(one[1])
    )
    if not offered:
        raise BadRecord("missing-field", "input_image", "is missing: every task has an input image")
    first: BadRecord | None = None
    for name, values in offered:
        try:
            paths = [_path(place, name, one) for one in values]
        except BadRecord as bad:
            if bad.code != "missing-file":
                raise
            first = first or bad
            continue
        several = max(len(values) for _, values in offered)
        return paths[0], paths[1:], several if several > len(paths) else 0
    assert first is not None
    raise first


def _originals(record: Mapping[str, Any], task: str) -> list[list[Any]]:
    """Where the images behind a contact sheet may lie, seen from the folder of the view."""
    adapter = record.get("eval_adapter")
    if not isinstance(adapter, dict):
        return []
    field = "eval_adapter.original_input_image"
    names = _names(field, adapter.get("original_input_image"))
    if not all(isinstance(name, str) for name in names):
        raise BadRecord("bad-field", field, "expected a list of paths")
    data = adapter.get("source_data_jsonl")
    folder = PurePosixPath(RELEASED[TASK_FORMATS[task]], task)
    if isinstance(data, str) and data.count("/") == 2:
        folder = PurePosixPath(data).parent
    return [[f"{top}{folder}/{name}" for name in names] for top in ("source/", "")]


def _target(record: Mapping[str, Any], place: Place) -> Path | None:
    for name in ("ground_truth_images", "ground_truth_image", "reference_files", "output_images"):
        if values := _names(name, record.get(name)):
            if len(values) > 1:
                raise BadRecord("bad-field", name, f"names {len(values)} targets; one is expected")
            return _path(place, name, values[0])
    return None


def _names(field: str, value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    found = list(value) if isinstance(value, list) else [value]
    if len(found) > MOST_IMAGES:
        raise BadRecord("bad-field", field, f"names more than {MOST_IMAGES} images")
    return found


def _path(place: Place, field: str, value: Any) -> Path:
    """A file of the set; what a reader has put into the cache is a path already."""
    if isinstance(value, Path):
        return value
    text = valid_text(field, value)
    plain = PureWindowsPath(text)  # it knows drives and backslashes as well
    if plain.anchor or ".." in plain.parts:
        raise BadRecord(
            "path-escape", field, f"{text[:200]!r} is not a path within the set's folder"
        )
    return place.files.named(field, text)

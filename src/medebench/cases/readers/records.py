"""From a record of some source to a Case: key spellings, types, ids and paths."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from medebench.cases.case import Case, id_problem
from medebench.cases.caseset import CaseSet, Problem
from medebench.cases.readers.record_values import (
    BadRecord,
    RecordFiles,
    kind_of_value,
    valid_text,
)

TEXTS = (
    *("prompt", "organ", "task", "rephrased_prompt", "description", "caption", "key_concept"),
    *("modality", "url", "answer", "key"),
)
ROLES = ("previous", "reference", "roi", "keep")
_FIELDS = ("bits", "images", "choices", "groups", "grid")
#: Both spellings of the MedEBench release, the paper's figure, and our own.
ALIASES = {
    **{name: name for name in ("id", *TEXTS, *ROLES, *_FIELDS)},
    "instruction": "prompt",
    "detailed_prompt": "description",
    "detailed_description": "description",
    "previous_image": "previous",
    "changed_image": "reference",
    "groundtruth_image": "reference",
    "ground_truth_image": "reference",
    "previous_mask": "roi",
    "roi_mask": "roi",
    "edit_mask": "roi",
    "keep_mask": "keep",
    "options": "choices",
}
EDITING = "editing"
#: Further images, choices and groups that one case may have.
MOST_NAMED = 64


def build_set(
    name: str,
    source: str,
    root: Path,
    records: Iterable[Any],
    folders: Mapping[str, Path] | None = None,
    task: str = EDITING,
) -> CaseSet:
    """A CaseSet of all good records; the others become its problems.

    `folders` maps a role to a folder where `<id>.<suffix>` is looked for when a record names none.
    A case of editing needs an input image; what another task needs, it says itself.
    """
    cases: list[Case] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    files = RecordFiles(root, folders)
    for number, record in enumerate(records, start=1):
        label = f"record {number}"
        try:
            values = _normalise(record)
            label = _case_id(values)
            # Some file systems take upper and lower case, or accents put together, for equal.
            folded = unicodedata.normalize("NFC", label).casefold()
            if folded in seen:
                raise BadRecord("duplicate-id", "id", "is already used by an earlier record")
            seen.add(folded)
            cases.append(_case(label, values, files))
            if cases[-1].previous is None and task == EDITING:
                cases.pop()
                raise BadRecord(
                    "missing-field", "previous", "is missing: an edit needs an input image"
                )
        except BadRecord as bad:
            problems.append(Problem(bad.code, label, bad.field, bad.message))
    return CaseSet(name, root, tuple(cases), source, tuple(problems), task)


def _normalise(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise BadRecord("bad-record", "", f"expected an object, found {kind_of_value(record)}")
    values: dict[str, Any] = {"extra": {}}
    for key, value in record.items():
        field = ALIASES.get(str(key).strip().casefold())
        if field is None:
            values["extra"][str(key)] = value
        elif value is not None and not (isinstance(value, str) and not value.strip()):
            values[field] = value
    return values


def _case_id(values: dict[str, Any]) -> str:
    given = values.get("id")
    if given is None:
        raise BadRecord("missing-field", "id", "is missing")
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise BadRecord(
            "bad-field", "id", f"expected text or a whole number, found {kind_of_value(given)}"
        )
    case_id = valid_text("id", str(given))
    if problem := id_problem(case_id):
        raise BadRecord("bad-id", "id", f"{case_id[:60]!r} {problem}")
    return case_id


def _case(case_id: str, values: dict[str, Any], files: RecordFiles) -> Case:
    if "prompt" not in values:
        raise BadRecord("missing-field", "prompt", "is missing or empty")
    texts = {field: valid_text(field, values[field]) for field in TEXTS if field in values}
    paths = {role: files.path(role, case_id, values.get(role)) for role in ROLES}
    images = {role: files.path(role, case_id, one) for role, one in _images(values)}
    return Case(
        id=case_id,
        **paths,  # type: ignore[arg-type]
        bits=_bits(values.get("bits")),
        images={role: path for role, path in images.items() if path is not None},
        choices=_choices(values.get("choices")),
        groups=_named_texts("groups", values.get("groups")),
        grid=_grid(values.get("grid", "previous")),
        extra=values["extra"],
        **texts,  # type: ignore[arg-type]
    )


def _images(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for role, path in _named_texts("images", values.get("images")).items():
        if role in ROLES or not role.isidentifier():
            raise BadRecord("bad-field", "images", f"{role[:40]!r} cannot be the name of an image")
        yield role, path


def _named_texts(field: str, value: Any) -> dict[str, str]:
    """An object of texts by name; in a CSV it is written as JSON."""
    if value is None:
        return {}
    if isinstance(value, str):
        value = _json(field, value)
    if not isinstance(value, dict) or len(value) > MOST_NAMED:
        raise BadRecord("bad-field", field, f"expected an object of at most {MOST_NAMED} texts")
    return {
        valid_text(field, name): valid_text(f"{field}.{name}", one) for name, one in value.items()
    }


def _choices(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = _json("choices", value)
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_NAMED:
        raise BadRecord("bad-field", "choices", f"expected a list of 2 to {MOST_NAMED} texts")
    return tuple(valid_text("choices", one) for one in value)


def _grid(value: Any) -> Literal["previous", "reference"]:
    if value not in ("previous", "reference"):
        found = valid_text("grid", value)[:40]
        raise BadRecord("bad-field", "grid", f"expected previous or reference, found {found!r}")
    return cast(Literal["previous", "reference"], value)


def _json(field: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise BadRecord("bad-field", field, f"expected JSON, found {text[:40]!r}") from None


def _bits(value: Any) -> int | None:
    if value is None:
        return None
    try:
        bits = int(value)
    except (TypeError, ValueError, OverflowError):
        bits = 0
    if isinstance(value, bool) or not 9 <= bits <= 16:
        raise BadRecord(
            "bad-field", "bits", f"expected a whole number from 9 to 16, found {value!r}"
        )
    return bits

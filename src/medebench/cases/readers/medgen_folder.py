"""MedGEN-Bench in JSON Lines: the release, its evaluation view, the review sample, or one file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases.caseset import CaseSet
from medebench.cases.medgen_names import RELEASED, format_of, task_name
from medebench.cases.readers.medgen_records import MOST_RECORDS, MedgenSet, Place
from medebench.cases.readers.metadata_files import parse_json
from medebench.cases.readers.record_values import BadRecord, RecordFiles, valid_text
from medebench.errors import InputError
from medebench.files import open_file, read_bytes

MANIFEST, DATA, SAMPLE = "manifest.json", "data.jsonl", "records.jsonl"
#: The files of an evaluation view, one a format.
VIEW = ("vqa.jsonl", "edit.jsonl", "gen.jsonl")
#: The link of a view to the release that it was made from.
SOURCE = "source"
#: Bytes of the largest file, line and manifest, and of what is looked at to recognise a file.
LARGEST, LONGEST_LINE, LARGEST_MANIFEST, LOOK = 1 << 28, 1 << 22, 1 << 24, 1 << 20
#: Keys that records of no other set have.
_MARKS = {
    *("paper_format", "paper_task", "paper_subtask", "in-out", "eval_adapter", "named_subtask"),
    *("recorded_modality", "record_index_within_task_file", "sub-category"),
}
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Part:
    """One file of records."""

    file: Path
    #: The folder that its paths are relative to.
    folder: Path
    format: str = ""
    task: str = ""
    #: Whether a record's line is its number among those of its task.
    numbered: bool = False
    #: What the manifest names, and is not there.
    missing: bool = False


def find(path: Path) -> list[Part] | None:
    """The files of records, if `path` is a set of MedGEN-Bench or a part of one."""
    if path.is_file():
        return [_part(path)] if path.suffix.lower() == ".jsonl" and is_medgen(path) else None
    if not path.is_dir():
        return None
    if parts := _release(path):
        return parts
    if parts := [_part(path / DATA)] if is_medgen(path / DATA) else []:
        return parts
    if parts := [_part(one) for name in VIEW if is_medgen(one := path / name)]:
        return parts
    return [_part(path / SAMPLE)] if is_medgen(path / SAMPLE) else None


def read(path: Path, parts: Sequence[Part]) -> CaseSet:
    root = path if path.is_dir() else path.parent
    gathered = MedgenSet()
    for part in parts:
        place = str(part.file.relative_to(root)) if part.file != path else ""
        if part.missing:
            flaw = BadRecord("missing-file", "", f"{part.file}: no such file; fetch the set again")
            gathered.refuse(flaw, f"record of {part.task}", MANIFEST)
            continue
        files = RecordFiles(part.folder, linked=_linked(part.folder))
        for line, value in _lines(part.file):
            where = f"{place}, line {line}".removeprefix(", ")
            number, sample = (line, _sample_id(part, line)) if part.numbered else (0, "")
            if isinstance(value, BadRecord):
                gathered.refuse(value, f"record {line}", where)
                continue
            gathered.add(value, Place(where, files, part.format, part.task, number, sample))
    return gathered.done(root.name if path.is_dir() else path.stem, root, str(path))


def is_medgen(file: Path) -> bool:
    """Whether one of the first records has keys that only records of MedGEN-Bench have."""
    try:
        with open_file(file, LARGEST) as stream:
            start = stream.read(LOOK)
    except OSError:
        return False
    for line in start.split(b"\n")[:50]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and _is_record(record):
            return True
    return False


def _is_record(record: dict[str, Any]) -> bool:
    # A table of our own may hold the same facts, beside an image by our name.
    if "previous" in record:
        return False
    if not _MARKS.isdisjoint(record):
        return True
    sample = record.get("sample_id")
    if isinstance(sample, str) and sample.startswith(("tableiv:", "medgen:")):
        return True
    form = record.get("format") or record.get("category")
    images = {"input_image", "input_images", "input_files"}
    named = isinstance(form, str) and format_of(form) is not None
    return named and "instruction" in record and not images.isdisjoint(record)


def _part(file: Path) -> Part:
    """A file of which only its place says what it is a part of."""
    folder = file.parent
    if file.name == DATA and task_name(folder.name):
        return Part(file, folder, _format_name(folder.parent.name), folder.name, True)
    known = re.sub(r"^smoke_(eval_)?", "", file.stem)
    return Part(file, folder, _format_name(known))


def _format_name(name: str) -> str:
    return name if format_of(name) else ""


def _release(root: Path) -> list[Part]:
    """The tasks of a release, or of one of its formats; those of a manifest in its order."""
    if tasks := _manifest(root):
        whole = {form for form, _ in tasks if (root / form).is_dir()}
        return [_task_part(root, form, task) for form, task in tasks if form in whole]
    formats = [root / name for name in RELEASED.values() if (root / name).is_dir()]
    if not formats and format_of(root.name):
        formats = [root]
    # A link would lead to whatever it likes.
    folders = [
        one
        for form in formats
        for one in sorted(form.iterdir())
        if task_name(one.name) and one.is_dir() and not one.is_symlink() and (one / DATA).is_file()
    ]
    return [Part(one / DATA, one, one.parent.name, one.name, True) for one in folders]


def _task_part(root: Path, form: str, task: str) -> Part:
    folder = root / form / task
    missing = not (folder / DATA).is_file()
    return Part(folder / DATA, folder, form, task, True, missing)


def _manifest(root: Path) -> list[tuple[str, str]]:
    """Format and task of every file, as the manifest of a release names them."""
    file = root / MANIFEST
    if not file.is_file():
        return []
    try:
        found = parse_json(str(file), read_bytes(file, LARGEST_MANIFEST).decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    table = found.get("table_iv") if isinstance(found, dict) else None
    if table is None:
        return []
    wanted = "expected an object of formats, each with a list of its tasks"
    if not isinstance(table, dict) or not all(isinstance(one, list) for one in table.values()):
        raise InputError(f"{file}: field 'table_iv': {wanted}; fetch the set again")
    named = [(form, task) for form, tasks in table.items() for task in tasks]
    for form, task in named:
        if format_of(form) is None or not isinstance(task, str) or task_name(task) is None:
            what = f"{form}/{task}"[:80]
            raise InputError(
                f"{file}: field 'table_iv': {what!r} is no task of MedGEN-Bench; correct it"
            )
        if re.search(r"[/\\\0]", form + task):
            raise InputError(f"{file}: field 'table_iv': '{form}/{task}' is no folder's name")
    return list(dict.fromkeys(named))


def _linked(folder: Path) -> list[Path]:
    """Where the link of an evaluation view leads, if that is a release and not just any folder."""
    link = folder / SOURCE
    if not link.is_symlink():
        return []
    try:
        real = link.resolve()
        there = real.is_dir() and any((real / one).is_dir() for one in RELEASED.values())
    except (OSError, RuntimeError):
        return []
    return [real] if there else []


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    """Records by line; what is no record comes as the flaw that it has."""
    try:
        data = read_bytes(file, LARGEST)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    number = 0
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if number > 2 * MOST_RECORDS:
            raise InputError(f"{file}: more than {2 * MOST_RECORDS:,} lines; split the file")
        if line.strip():
            yield number, _value(line)


def _value(line: bytes) -> Any:
    if len(line) > LONGEST_LINE:
        return BadRecord("bad-record", "", f"is longer than {LONGEST_LINE:,} bytes; shorten it")
    try:
        value = parse_json("", line.decode("utf-8"))
        if _HALF.search(line):
            valid_text("", json.dumps(value, ensure_ascii=False))
        return value
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start} of the line; save the file as UTF-8"
        return BadRecord("bad-record", "", message)
    except BadRecord as bad:
        return BadRecord("bad-record", "", bad.message)
    except InputError as error:
        return BadRecord("bad-record", "", f"{str(error).removeprefix(': ')}; correct the line")


def _sample_id(part: Part, line: int) -> str:
    form = format_of(part.format)
    named = RELEASED[form] if form else part.format
    return f"tableiv:{named}:{task_name(part.task) or part.task}:{line:06d}"

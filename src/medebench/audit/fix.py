"""`fix`: a repaired copy of a set in the MedEBench layout; the original is only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from medebench.audit.audited_case import MASKS, Seen
from medebench.audit.duplicates import same_cases
from medebench.audit.file_facts import FileFacts, gather
from medebench.audit.finding_kinds import AUDIT_VERSION
from medebench.audit.image_repair import repaired_mask, repaired_picture
from medebench.audit.mojibake import mended
from medebench.audit.text_checks import words
from medebench.cases.case import Case, id_problem
from medebench.cases.caseset import CaseSet
from medebench.cases.readers.medebench_release import METADATA
from medebench.cases.readers.records import ALIASES
from medebench.errors import ImageError, InputError
from medebench.files import whole_folder, write_bytes, write_json
from medebench.images.picture import read_file
from medebench.parallel import core_count
from medebench.progress import Progress, silent
from medebench.stamp import read_stamp, write_stamp

FOLDERS = {"reference": "changed", "roi": "previous_mask", "keep": "keep_mask"}
_PATH_KEYS = FOLDERS | {"previous": "previous_image", "reference": "changed_image"}


_OPTIONAL = ("caption", "key_concept", "modality", "bits", "answer", "choices", "groups")


#: What is done to a text.
UNDONE = ("mojibake undone",)


class Repair(NamedTuple):
    """What was done to one picture, or one text, of a case."""

    case: str
    role: str
    done: tuple[str, ...]


class LeftOut(NamedTuple):
    """A case that the copy does not have, and why."""

    case: str
    reason: str


@dataclass(frozen=True)
class FixReport:
    """A repaired copy: what was done to which image, and what is not in it."""

    out: Path
    #: Cases in the copy, and how many of their pictures are the original bytes.
    cases: int
    copied: int
    repairs: tuple[Repair, ...]
    left_out: tuple[LeftOut, ...]
    #: Groups of cases with the same pictures: all are kept, which to drop is the user's choice.
    duplicates_kept: int
    #: The same call had made the copy before, and nothing is missing.
    already_complete: bool = False

    def __repr__(self) -> str:
        return f"FixReport({self.summary()})"

    def summary(self) -> str:
        """The copy in one line, for a person."""
        before = "already complete: " if self.already_complete else ""
        texts = sum(repair.done == UNDONE for repair in self.repairs)
        parts = [
            f"{before}{self.cases} cases in {self.out}: {len(self.repairs) - texts} pictures "
            f"repaired, {self.copied} copied as they were, {len(self.left_out)} cases left out"
        ]
        if texts:
            parts.append(f"{texts} texts put back into the right encoding")
        if self.duplicates_kept:
            parts.append(
                f"{self.duplicates_kept} groups of duplicates kept: which to drop is up to you"
            )
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        return _told(self) | {
            "out": str(self.out),
            "repairs": [repair._asdict() for repair in self.repairs],
            "left_out": [one._asdict() for one in self.left_out],
            "already_complete": self.already_complete,
        }


def fix(
    cases: CaseSet, out: Path, *, workers: int | None = None, progress: Progress = silent
) -> FixReport:
    """Write `cases` to the new folder `out`, with all repaired that can be repaired.

    Texts that were read in the wrong encoding are put right where there is no doubt about it.
    Pictures are made upright, RGB (16 bits stay 16) and free of metadata; references and masks get
    the size of their image; masks become one channel of 0 and 255. A picture that is so already is
    copied byte for byte. Cases that cannot be used are left out and listed; duplicates stay. A
    folder that the same cases were repaired into before is left as it is.
    """
    out = Path(out).absolute()
    made_from = {
        "cases": cases.fingerprint,
        "audit": AUDIT_VERSION,
        "problems": [[one.case_id, one.field, one.message] for one in cases.problems],
    }
    if (stamp := read_stamp(out, made_from)) is not None:
        return _known(out, stamp["result"])
    _refuse(cases, out)
    results: list[_Fixed | LeftOut] = []
    with whole_folder(out) as scratch:
        for result in _fixed_cases(cases, scratch / "editing", workers or core_count()):
            results.append(result)
            progress(len(results), len(cases))
        fixed = [result for result in results if isinstance(result, _Fixed)]
        if not fixed:
            raise InputError(f"{cases.source or cases.name}: no case can be used, nothing written")
        samples = [result.record for result in fixed]
        write_json(scratch / "editing" / METADATA, {"samples": samples})
        problems = (
            LeftOut(one.case_id, f"{one.field} {one.message}".strip()) for one in cases.problems
        )
        repairs = tuple(repair for result in fixed for repair in result.repairs)
        report = FixReport(
            out=out,
            cases=len(fixed),
            copied=sum(len(result.seen.files) for result in fixed)
            - sum(repair.done != UNDONE for repair in repairs),
            repairs=repairs,
            left_out=(*problems, *(one for one in results if isinstance(one, LeftOut))),
            duplicates_kept=len(same_cases([result.seen for result in fixed])),
        )
        write_stamp(scratch, made_from, _told(report))
    return report


def _told(report: FixReport) -> dict[str, Any]:
    names = ("cases", "copied", "repairs", "left_out", "duplicates_kept")
    return {name: getattr(report, name) for name in names}


def _known(out: Path, told: dict[str, Any]) -> FixReport:
    """What `_told` was given, read again."""
    repairs = tuple(Repair(case, role, tuple(done)) for case, role, done in told["repairs"])
    left_out = tuple(LeftOut(*one) for one in told["left_out"])
    numbers = {name: int(told[name]) for name in ("cases", "copied", "duplicates_kept")}
    return FixReport(out, repairs=repairs, left_out=left_out, already_complete=True, **numbers)


def _refuse(cases: CaseSet, out: Path) -> None:
    if cases.task != "editing":
        raise InputError(f"{cases.name}: cases of task '{cases.task}'; only editing sets are fixed")
    if out.resolve().is_relative_to(cases.root.resolve()):
        raise InputError(f"{out}: is inside the set it is a copy of; choose a folder elsewhere")


class _Unusable(Exception):
    pass


class _Fixed(NamedTuple):
    record: dict[str, Any]
    repairs: list[Repair]
    seen: Seen


def _fixed_cases(cases: CaseSet, editing: Path, workers: int) -> Iterator[_Fixed | LeftOut]:
    pool = ThreadPoolExecutor(workers, thread_name_prefix="fix")
    try:
        yield from pool.map(partial(_fixed_case, editing=editing), cases.cases)
    finally:
        # What has begun must end before the scratch folder is removed, or it would come back.
        pool.shutdown(wait=True, cancel_futures=True)


def _fixed_case(case: Case, editing: Path) -> _Fixed | LeftOut:
    try:
        if problem := id_problem(case.id):
            raise _Unusable(f"id {problem}")
        if not words(case.prompt):
            raise _Unusable("a prompt without words")
        return _write(case, editing)
    except (_Unusable, ImageError) as error:
        return LeftOut(case.id, str(error))


def _write(case: Case, editing: Path) -> _Fixed:
    facts: dict[str, FileFacts] = {}
    data: dict[str, bytes] = {}
    for role, path in case.files().items():
        data[role] = read_file(path)
        facts[role] = gather(path, role in MASKS, data[role]).facts
        if (flaw := facts[role].flaw) is not None:
            raise _Unusable(f"{role}: {flaw.message}")
    size = facts["previous"].size
    case, fields = mended(case)
    repairs = [Repair(case.id, field, UNDONE) for field in fields]
    files: dict[str, bytes] = {}
    for role in facts:
        repaired = repaired_mask if role in MASKS else repaired_picture
        # Further images have a size of their own.
        wanted = size if role in _PATH_KEYS else facts[role].size
        files[role], done = repaired(facts[role], data[role], wanted)
        if not files[role] and role == "keep":
            # Nothing to keep is what no mask says as well.
            del files[role]
            done = ("left out, as it is empty",)
        elif not files[role]:
            raise _Unusable("the ROI is empty")
        if done:
            repairs.append(Repair(case.id, role, done))
    # Only now: a case that is left out leaves no file.
    for role, content in files.items():
        write_bytes(editing / FOLDERS.get(role, role) / f"{case.id}.png", content)
    return _Fixed(_record(case, files), repairs, Seen(case, facts))


def _record(case: Case, roles: Iterable[str]) -> dict[str, Any]:
    plain_number = case.id.isascii() and case.id.isdigit() and str(int(case.id)) == case.id
    record: dict[str, Any] = {
        "id": int(case.id) if plain_number else case.id,
        "Organ": case.organ,
        "Task": case.task,
        "prompt": case.prompt,
        "rephrased_prompt": case.rephrased_prompt,
        "detailed_prompt": case.description,
    }
    paths = {role: f"editing/{FOLDERS.get(role, role)}/{case.id}.png" for role in roles}
    record |= {_PATH_KEYS[role]: path for role, path in paths.items() if role in _PATH_KEYS}
    record["url"] = case.url
    optional = {name: getattr(case, name) for name in _OPTIONAL}
    optional["images"] = {role: path for role, path in paths.items() if role not in _PATH_KEYS}
    record.update((key, value) for key, value in optional.items() if value)
    extra = case.extra.items()
    return record | {key: one for key, one in extra if key.strip().casefold() not in ALIASES}

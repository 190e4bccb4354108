"""`load_cases`: whatever the user calls a set of cases, as a CaseSet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from medebench.cases.caseset import CaseSet
from medebench.cases.medgen_names import TASK_FORMATS
from medebench.cases.readers import (
    medebench_release,
    medgen_folder,
    medgen_parquet,
    medgen_records,
    plain_folder,
)
from medebench.entry import Entry
from medebench.errors import InputError, one_line
from medebench.progress import Progress, silent
from medebench.registry import Registry
from medebench.settings import split_name

#: Functions of the whole text, `name[:key=value,...]`, and a progress bar.
CASE_SETS = Registry("case set", "medebench.case_sets")


def is_named_set(text: str) -> bool:
    """Whether this names a set of the package, of another one or of a user's `file.py:Name`."""
    return text.partition(":")[0] in CASE_SETS.names() or ".py:" in text


def load_cases(
    source: str | Path | CaseSet,
    *,
    task: str | None = None,
    strict: bool = True,
    progress: Progress = silent,
) -> CaseSet:
    """Cases from a built-in name, a folder, a metadata file or a function in a user's file.

    Args:
        source: `phantoms:count=26`, `chest-phantoms`, a path, `file.py:Name`, or a set as it is.
        task: what is to be done with the cases of a folder with a table; `editing` unless given.
            Other sources say it themselves.
        strict: a record that cannot be used is an error that names it; with False it is left out
            and listed in `CaseSet.problems`.
        progress: called while phantoms are drawn.

    Returns:
        The cases in the order of their source; no image is opened yet.

    >>> cases = mb.load_cases("phantoms:count=4")
    >>> len(cases), cases.task
    (4, 'editing')
    """
    if isinstance(source, CaseSet):
        return source
    text = str(source)
    if is_named_set(text):
        return _named(text, progress)
    if text.startswith("hub:"):
        raise InputError(
            f"{text}: not downloaded automatically; run "
            f"`medebench cases get {text} --out DIR`, then use DIR"
        )
    path = Path(text).expanduser().absolute()
    if not path.exists():
        raise InputError(
            f"{path}: no such folder or file; built-in sets: {', '.join(CASE_SETS.names())}"
        )
    found = _read(path, task, progress)
    if strict and found.problems:
        raise InputError(_first_problem(found))
    if strict and not found.cases:
        raise InputError(f"{found.source}: contains no cases")
    return found


def list_case_sets() -> list[Entry]:
    """The sets of cases that can be loaded by name, here or after a download.

    Returns:
        Sets, each with what to do before it can be loaded, if anything.

    >>> mb.list_case_sets()[-1].name
    'medebench'
    """
    from medebench.cases.hub_sets import KNOWN

    here = [(name, CASE_SETS.find(name)) for name in CASE_SETS.names()]
    return [
        Entry(name=name, summary=getattr(one, "summary", "") or (one.__doc__ or "").split("\n")[0])
        for name, one in here
    ] + [
        Entry(
            name=name,
            summary=f"published set {hub} of the Hugging Face hub",
            needs=("a download",),
            problem=f"`medebench cases get {name} --out DIR`, then use DIR",
        )
        for name, hub in KNOWN.items()
    ]


def _named(text: str, progress: Progress) -> CaseSet:
    name = split_name(text)[0]
    found = CASE_SETS.find(name)(text, progress)
    if not isinstance(found, CaseSet):
        raise InputError(f"{text}: gives a {type(found).__name__}, not a CaseSet")
    # A set of a user's file must be found again by whoever reads the run.
    return found if found.source else replace(found, source=text)


def _read(path: Path, task: str | None, progress: Progress) -> CaseSet:
    if (metadata := medebench_release.find(path)) is not None:
        return medebench_release.read(metadata)
    if (parts := medgen_folder.find(path)) is not None:
        return medgen_folder.read(path, parts)
    if (tables := medgen_parquet.find(path)) is not None:
        return medgen_parquet.read(path, tables, progress)
    if (table := plain_folder.find(path)) is not None:
        found = plain_folder.read(table, *([task] if task else []))
        return replace(found, task=medgen_records.TASK) if not task and _is_medgen(found) else found
    raise InputError(
        f"{path}: not a set of cases: expected editing/{medebench_release.METADATA}, "
        "previous/ with a CSV or JSONL beside it, or a layout of MedGEN-Bench"
    )


def _is_medgen(found: CaseSet) -> bool:
    """Whether all cases of a table are of tasks of MedGEN-Bench, and say so."""
    own = (TASK_FORMATS.get(case.task) == (case.group("format") or None) for case in found)
    return bool(found.cases) and all(case.task in TASK_FORMATS for case in found) and all(own)


def _first_problem(found: CaseSet) -> str:
    first, more = found.problems[0], len(found.problems) - 1
    who = first.case_id if first.case_id.startswith("record ") else f"case {first.case_id}"
    field = f", field '{first.field}'" if first.field else ""
    others = f" (and {more} more)" if more else ""
    where = f"{found.source}, {first.where}" if first.where else found.source
    fix = ", --fix leaves them out" if found.task == "editing" else ""
    # What a record holds may be quoted, line breaks and all.
    return (
        f"{where}: {who}{field}: {one_line(first.message, 1500)}{others}; "
        f"`medebench cases check {found.source}` lists all{fix}"
    )

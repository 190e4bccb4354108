"""`load_cases`: whatever the user calls a set of cases, as a CaseSet."""

from __future__ import annotations

from pathlib import Path

from medebench.cases.builtin import BUILTIN, builtin_set, is_builtin
from medebench.cases.caseset import CaseSet
from medebench.cases.readers import folder, medebench
from medebench.errors import InputError
from medebench.progress import Progress, silent


def load_cases(
    source: str | Path | CaseSet, *, strict: bool = True, progress: Progress = silent
) -> CaseSet:
    """Cases from a built-in name (`phantoms:count=26`, `chest-phantoms`), a folder or a file.

    A record that cannot be used is an error that names it; with `strict=False` it is left out and
    listed in `CaseSet.problems`. `progress` is called while phantoms are drawn.
    """
    if isinstance(source, CaseSet):
        return source
    text = str(source)
    if is_builtin(text):
        return builtin_set(text, progress)
    if text.startswith("hub:"):
        raise InputError(
            f"{text}: nothing is downloaded unasked; "
            f"`medebench cases get {text} --out DIR`, then use DIR"
        )
    path = Path(text).expanduser().absolute()
    if not path.exists():
        raise InputError(f"{path}: no such folder or file; built-in sets: {', '.join(BUILTIN)}")
    found = _read(path)
    if strict and found.problems:
        raise InputError(_first_problem(found))
    if strict and not found.cases:
        raise InputError(f"{found.source}: holds no case")
    return found


def _read(path: Path) -> CaseSet:
    if (metadata := medebench.find(path)) is not None:
        return medebench.read(metadata)
    if (table := folder.find(path)) is not None:
        return folder.read(table)
    raise InputError(
        f"{path}: not a set of cases: expected editing/{medebench.METADATA}, "
        "or previous/ with a CSV or JSONL beside it"
    )


def _first_problem(found: CaseSet) -> str:
    first, more = found.problems[0], len(found.problems) - 1
    who = first.case_id if first.case_id.startswith("record ") else f"case {first.case_id}"
    field = f", field '{first.field}'" if first.field else ""
    others = f" (and {more} more)" if more else ""
    return (
        f"{found.source}: {who}{field}: {first.message}{others}; "
        f"`medebench cases check {found.source}` lists all, --fix leaves them out"
    )

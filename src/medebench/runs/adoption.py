"""`adopt`: take over outputs that exist already, as if a system of ours had made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from medebench.cases import CaseSet, load_cases
from medebench.engine.executors import find_executor
from medebench.errors import InputError
from medebench.images.picture import SUFFIXES
from medebench.outputs import CODECS, Part
from medebench.progress import Progress, silent
from medebench.runs.drive import drive
from medebench.runs.failed_calls import Failures
from medebench.runs.generate_run import cases_info
from medebench.runs.provenance import now, versions
from medebench.runs.run_folder import Run, RunInfo, create_or_continue
from medebench.runs.stages.adopted_outputs import AdoptedFiles, AdoptedOutputs
from medebench.runs.visits import Visit, new_targets
from medebench.tasks import find_task

_SUFFIXES: Mapping[Part, Iterable[str]] = {"image": SUFFIXES, "text": (".txt",)}


def adopt(
    folder: str | Path,
    cases: str | Path | CaseSet,
    out: str | Path,
    *,
    name: str | None = None,
    control: bool = False,
    workers: int | None = None,
    progress: Progress = silent,
    failures: Failures | None = None,
) -> Run:
    """Take over outputs that exist already; they are copied, the folder stays as it is.

    Args:
        folder: images named `<id>_<k>.png`, or `<id>.png` for k = 0; where the task asks for
            texts, `<id>_<k>.txt`, where it asks for both, both.
        cases: the cases they were made from. Those without a file are not part of the run.
        out: the run's folder; an existing one is continued.
        name: what to call the editor; by default the folder's name.
        control: whether it is a control rather than a model.
        workers: threads; all cores by default.
        progress: called with (done, total).
        failures: counts what failed now, and why.

    Returns:
        The run; `run.json` says how many cases of the set it covers.

    >>> made = mb.edit("phantoms:count=2", "identity", tmp / "made")
    >>> mb.adopt(made.edits, "phantoms:count=2", tmp / "adopted", name="mine")
    Run('.../adopted', editor='mine')
    """
    folder = Path(folder).expanduser().absolute()
    found = load_cases(cases)
    files, unmatched = match_files(folder, found)
    covered = found.select(ids=[case.id for case in found if case.id in files])
    info = RunInfo(
        editor=name or folder.name,
        control=control,
        adopted_from=folder.name,
        unmatched=unmatched,
        outputs_per_case=max(max(ks) for ks in files.values()) + 1,
        cases=cases_info(covered, of=len(found)),
        task=found.task,
        gives=list(find_task(found.task).gives),
        created=now(),
        versions=versions(),
    )
    run = create_or_continue(out, info)
    with run.locked() as ledger:
        stage = AdoptedOutputs(files, ledger.outputs())
        visits = [
            Visit(found[case_id], new_targets(run, found[case_id], sorted(ks), covered))
            for case_id, ks in files.items()
        ]
        how = find_executor("threads", workers, ordered=False)
        drive([stage], visits, [run], [ledger], how, progress=progress, failures=failures)
    return run


def match_files(folder: Path, cases: CaseSet) -> tuple[AdoptedFiles, list[str]]:
    """By case id and k, the files of that name; and the files named after no case."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    files: AdoptedFiles = {}
    unmatched: list[str] = []
    kinds = {suffix: part for part in find_task(cases.task).gives for suffix in _SUFFIXES[part]}
    for path in sorted(folder.iterdir()):
        if (part := kinds.get(path.suffix.lower())) is None or path.name.startswith("."):
            continue
        case_id, k = path.stem, 0
        if case_id not in cases and (parts := re.fullmatch(r"(.+)_(\d{1,6})", path.stem)):
            case_id, k = parts[1], int(parts[2])
        if case_id not in cases:
            unmatched.append(path.name)
            continue
        own = files.setdefault(case_id, {}).setdefault(k, {})
        if (other := own.setdefault(part, path)) != path:
            raise InputError(
                f"{folder}: {other.name} and {path.name} are the same output; keep one of them"
            )
    if not files:
        ending = CODECS[find_task(cases.task).gives[0]].suffix
        raise InputError(
            f"{folder}: no file is named <id>_<k>{ending} or <id>{ending} after a case of "
            f"{cases.name}"
        )
    return files, unmatched

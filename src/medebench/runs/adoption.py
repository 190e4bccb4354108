"""`adopt`: take over outputs that exist already, as if a system of ours had made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from medebench.runs.result_records import Matched, is_results, match_results
from medebench.runs.run_folder import Run, RunInfo, create_or_continue
from medebench.runs.stages.adopted_outputs import AdoptedFiles, AdoptedOutputs
from medebench.runs.visits import Visit, new_targets
from medebench.tasks import find_task

#: An output's number behind the id, as people write it: 48_3, 48_seed3, 48_k3.
_NUMBERED = re.compile(r"(.+)_(?:seed|sample|k)?[_-]?(\d{1,6})", re.IGNORECASE)
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
        folder: images named `<id>_<k>.png` or `<id>_seed<k>.png`, or `<id>.png` for k = 0; where
            the task asks for texts, `<id>_<k>.txt`, where it asks for both, both. Or a results
            file (.jsonl, .json) with a record for each output: `sample_id`, `response`,
            `output_image`, the path relative to the file. Records are matched by `sample_id` or by
            the id of a case, never by position.
        cases: the cases they were made from. Those without a file are not part of the run.
        out: the run's folder; an existing one is continued.
        name: what to call the editor; by default the name of the folder or the file.
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
    matched = match_outputs(folder, found)
    files = matched.files
    covered = found.select(ids=[case.id for case in found if case.id in files])
    info = RunInfo(
        editor=name or (folder.name if folder.is_dir() else folder.stem),
        control=control,
        adopted_from=folder.name,
        unmatched=matched.unmatched,
        repeated=matched.repeated,
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


def match_outputs(given: Path, cases: CaseSet) -> Matched:
    """What there is of which output, and what belongs to no case: of a folder or a results file."""
    if is_results(given):
        return match_results(given, cases)
    return Matched(*match_files(given, cases))


def match_files(folder: Path, cases: CaseSet) -> tuple[AdoptedFiles, list[str]]:
    """By case id and k, the files of that name; and the files named after no case."""
    if not folder.is_dir():
        problem = "is a file; name its folder" if folder.exists() else "no such folder"
        raise InputError(f"{folder}: {problem}")
    files: AdoptedFiles = {}
    unmatched: list[str] = []
    for part, path in _outputs(folder, cases):
        if (place := _place(path.stem, cases)) is None:
            unmatched.append(path.name)
            continue
        own = files.setdefault(place[0], {}).setdefault(place[1], {})
        if (other := own.setdefault(part, path)) != path and isinstance(other, Path):
            raise InputError(
                f"{folder}: {other.name} and {path.name} are the same output; keep one of them"
            )
    if not files:
        raise InputError(_no_match(folder, unmatched, cases))
    return files, unmatched


def naming_hint(name: str, cases: CaseSet) -> str:
    """What to do about a file that is named after no case, where that can be told; else nothing.

    >>> cases = load_cases("phantoms:count=2")
    >>> naming_hint("002_0.png", cases)
    "rename '002_0.png' to '2_0.png': the ids have other leading zeros"
    >>> naming_hint("2_final.png", cases)
    "rename '2_final.png' to '2_0.png': behind the id 2 stands no output number"
    """
    stem, dot, ending = name.rpartition(".")
    plain = {case.id.lstrip("0"): case.id for case in cases}
    if parts := _NUMBERED.fullmatch(stem) or re.fullmatch(r"(.+)", stem):
        known = plain.get(parts[1].lstrip("0")) or plain.get(stem.lstrip("0"))
        if known is not None:
            better = f"{known}_{parts[2]}" if parts.re is _NUMBERED else known
            why = "the ids have other leading zeros"
            return f"rename '{name}' to '{better}{dot}{ending}': {why}"
    begun = [case.id for case in cases if stem.startswith(case.id)]
    if begun and not stem[len(known := max(begun, key=len))].isalnum():
        why = f"behind the id {known} stands no output number"
        return f"rename '{name}' to '{known}_0{dot}{ending}': {why}"
    return ""


def _outputs(folder: Path, cases: CaseSet) -> Iterator[tuple[Part, Path]]:
    kinds = {suffix: part for part in find_task(cases.task).gives for suffix in _SUFFIXES[part]}
    for path in sorted(folder.iterdir()):
        part = kinds.get(path.suffix.lower())
        if part is not None and not path.name.startswith("."):
            yield part, path


def _place(stem: str, cases: CaseSet) -> tuple[str, int] | None:
    """The case and the number of an output, by the name of its file."""
    if stem in cases:
        return stem, 0
    parts = _NUMBERED.fullmatch(stem)
    return (parts[1], int(parts[2])) if parts and parts[1] in cases else None


def _no_match(folder: Path, unmatched: Sequence[str], cases: CaseSet) -> str:
    """What was seen and what was expected, and what would fit."""
    ending = CODECS[find_task(cases.task).gives[0]].suffix
    ids = ", ".join(f"'{case.id}'" for case in cases.cases[:2])
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    seen = f"it has '{(unmatched or names)[0]}'" if names else "it has no files"
    fits = [
        child.name
        for child in sorted(folder.iterdir())
        if child.is_dir() and any(_place(path.stem, cases) for _, path in _outputs(child, cases))
    ]
    hint = naming_hint(unmatched[0], cases) if unmatched else ""
    if fits:
        hint = f"its subfolders fit ({', '.join(fits[:3])}): adopt {folder}/* --out RUNS"
        hint = (
            hint if len(fits) > 1 else f"its subfolder '{fits[0]}' fits: adopt {folder / fits[0]}"
        )
    return (
        f"{folder}: no file is named <id>_<k>{ending} or <id>{ending} after a case of "
        f"{cases.name}: {seen}, and the ids are {ids}{', ...' if len(cases) > 2 else ''}"
        + (f"; {hint}" if hint else "")
    )

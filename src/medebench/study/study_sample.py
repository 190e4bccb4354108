"""Which cases people look at: those that all runs share, the same number of every group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from medebench.cases import CaseSet
from medebench.cases.source_clusters import joined_sources
from medebench.errors import InputError
from medebench.runs.run_folder import Run
from medebench.study.design import LETTERS, RUINED


@dataclass(frozen=True)
class Candidate:
    """A case of which every run has an output."""

    id: str
    #: The organ, or what else the task groups its cases by.
    group: str
    digest: str
    #: Cases that share it were made from one input.
    source: str
    #: Run name -> content hash of its output.
    outputs: dict[str, str]


@dataclass(frozen=True)
class Sample:
    """The cases that count, and those that are left for trial and controls, best first."""

    taken: tuple[Candidate, ...]
    spare: tuple[Candidate, ...]
    #: Group -> (taken, available).
    groups: dict[str, tuple[int, int]]
    warnings: tuple[str, ...]


def check_runs(runs: Sequence[Run]) -> None:
    if not 2 <= len(runs) <= len(LETTERS):
        remedy = "add a run" if len(runs) < 2 else "leave some out"
        given = f"{len(runs)} given; {remedy}"
        raise InputError(f"a study compares 2 to {len(LETTERS)} runs, {given}")
    seen: dict[str, Run] = {}
    for run in runs:
        if run.name == RUINED:
            raise InputError(f"{run.path}: this name is reserved for controls; rename the folder")
        if (other := seen.get(run.name)) is not None:
            if other.path == run.path:
                raise InputError(f"{run.path}: given twice")
            raise InputError(
                f"two runs are called '{run.name}' ({other.path} and {run.path}); rename one folder"
            )
        if run.info.task != runs[0].info.task:
            raise InputError(
                f"{run.path}: task '{run.info.task}', but {runs[0].path} has "
                f"'{runs[0].info.task}'; a study compares runs of one task"
            )
        seen[run.name] = run


def readable_cases(runs: Sequence[Run]) -> CaseSet:
    """The cases, from the first run that still finds them: the others hold the same."""
    problem: InputError | None = None
    for run in runs:
        try:
            return run.cases
        except InputError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def shared_cases(
    runs: Sequence[Run], k: int = 0, grouping: str = "organ"
) -> tuple[list[Candidate], list[str]]:
    """The cases of which every run has output k, sorted by id; and which runs lack how many.

    A case is known by id and content: another one under the same id is another case.
    """
    if k < 0:
        raise InputError(f"k: expected 0 or more, found {k}")
    held = {run.name: _Held(run, k) for run in runs}
    usual = _usual_digests(held.values())
    lacks = [text for one in held.values() if (text := one.lacks(usual))]
    rows = {id: row for one in held.values() for id, row in one.cases.items() if one.has(id, usual)}
    sources = joined_sources({id: row.source or row.digest for id, row in rows.items()})
    # Ledgers hold organ and task of a case; for other groups the cases themselves are read.
    read = None if grouping in ("organ", "task") else readable_cases(runs)
    shared = [
        Candidate(
            id,
            getattr(row, grouping) if read is None else read[id].group(grouping),
            row.digest,
            sources[id],
            {name: one.outputs[id] for name, one in held.items()},
        )
        for id, row in sorted(rows.items())
        if all(one.has(id, usual) for one in held.values())
    ]
    if not shared:
        why = "; ".join(lacks) or "the runs hold no case"
        raise InputError(f"no case has output {k} in all {len(runs)} runs: {why}")
    return shared, lacks


class _Held:
    """What one run has to show."""

    def __init__(self, run: Run, k: int) -> None:
        self.name, self.k = run.name, k
        with run.ledger() as ledger:
            self.cases = ledger.cases()
            rows = ledger.outputs()
        self.outputs = {id: row.sha256 for (id, n), row in rows.items() if n == k and row.sha256}

    def has(self, id: str, usual: dict[str, str]) -> bool:
        return id in self.outputs and id in self.cases and self.cases[id].digest == usual[id]

    def lacks(self, usual: dict[str, str]) -> str:
        lost = [id for id in usual if not self.has(id, usual)]
        absent = sum(id not in self.cases for id in lost)
        other = sum(id in self.cases and self.cases[id].digest != usual[id] for id in lost)
        reasons = {
            f"have no output {self.k or ''}".rstrip(): len(lost) - absent - other,
            "are not in it": absent,
            "are different cases under the same id": other,
        }
        words = ", ".join(f"{count} {text}" for text, count in reasons.items() if count)
        return f"run '{self.name}' lacks {len(lost)} of {len(usual)} cases: {words}" if lost else ""


def _usual_digests(held: Iterable[_Held]) -> dict[str, str]:
    """By id, the content that most runs have there."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in held:
        for id, row in one.cases.items():
            found[id][row.digest] += 1
    return {id: min(counts, key=lambda d: (-counts[d], d)) for id, counts in found.items()}


def sample(
    cases: Iterable[Candidate], per_group: int, seed: int, grouping: str = "organ"
) -> Sample:
    """`per_group` cases of every group, or all there are.

    Every case has a place of its own in a shuffled order, drawn from the seed and the case alone:
    neither the order of the cases nor the number of runs matters, and a case that goes leaves the
    rest as it was. A second case of one source is taken after a first one of all others.
    """
    if per_group < 1:
        raise InputError(f"per_organ: expected 1 or more, found {per_group}")
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: _place(seed, case)):
        groups[case.group].append(case)
    taken: list[Candidate] = []
    rest: list[Candidate] = []
    facts: dict[str, tuple[int, int]] = {}
    for group, found in sorted(groups.items()):
        ordered = _sources_first(found)
        taken += ordered[:per_group]
        rest += ordered[per_group:]
        facts[group or f"no {grouping} named"] = (min(per_group, len(found)), len(found))
    few = [f"{name} {there}" for name, (_, there) in facts.items() if there < per_group]
    warnings = [f"fewer than the {per_group} cases requested: {', '.join(few)}"] if few else []
    shown = {case.source for case in taken}
    spare = sorted(rest, key=lambda case: (case.source in shown, _place(seed, case)))
    return Sample(tuple(taken), tuple(spare), facts, tuple(warnings))


def _sources_first(cases: Sequence[Candidate]) -> list[Candidate]:
    """In the same order, but the n-th case of a source before any (n+1)-th."""
    seen: Counter[str] = Counter()
    turns = []
    for number, case in enumerate(cases):
        turns.append((seen[case.source], number, case))
        seen[case.source] += 1
    return [case for _, _, case in sorted(turns, key=lambda turn: turn[:2])]


def _place(seed: int, case: Candidate) -> str:
    return sha256(f"{seed}\n{case.digest}\n{case.id}".encode()).hexdigest()

"""Which cases people look at: those that all runs share, the same number of every organ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from medebench.errors import InputError
from medebench.runs.run import Run
from medebench.study.design import LETTERS, RUINED

NO_ORGAN = "no organ named"


@dataclass(frozen=True)
class Candidate:
    """A case of which every run has an output."""

    id: str
    organ: str
    digest: str
    #: Cases that share it were made from one picture.
    source: str
    #: Run name -> content hash of its output.
    outputs: dict[str, str]


@dataclass(frozen=True)
class Sample:
    """The cases that count, and those that are left for trial and controls, best first."""

    taken: tuple[Candidate, ...]
    spare: tuple[Candidate, ...]
    #: Organ -> (taken, available).
    organs: dict[str, tuple[int, int]]
    warnings: tuple[str, ...]


def check_runs(runs: Sequence[Run]) -> None:
    if not 2 <= len(runs) <= len(LETTERS):
        raise InputError(
            f"a study compares 2 to {len(LETTERS)} runs, {len(runs)} given; "
            + ("add a run" if len(runs) < 2 else "leave some out")
        )
    seen: dict[str, Run] = {}
    for run in runs:
        if run.name == RUINED:
            raise InputError(f"{run.path}: this name is kept for controls; rename the folder")
        if (other := seen.get(run.name)) is not None:
            if other.path == run.path:
                raise InputError(f"{run.path}: is given twice")
            raise InputError(
                f"two runs are called '{run.name}' ({other.path} and {run.path}); rename one folder"
            )
        seen[run.name] = run


def shared_cases(runs: Sequence[Run], k: int = 0) -> tuple[list[Candidate], list[str]]:
    """The cases of which every run has output k, sorted by id; and which runs lack how many.

    A case is known by id and content: another one under the same id is another case.
    """
    check_runs(runs)
    if k < 0:
        raise InputError(f"k: expected 0 or more, found {k}")
    held = {run.name: _Held(run, k) for run in runs}
    usual = _usual_digests(held.values())
    lacks = [text for one in held.values() if (text := one.lacks(usual))]
    rows = {id: row for one in held.values() for id, row in one.cases.items() if one.has(id, usual)}
    shared = [
        Candidate(
            id,
            row.organ,
            row.digest,
            row.source or row.digest,
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
        reasons = Counter(
            "other"
            if id in self.cases and self.cases[id].digest != usual[id]
            else "absent"
            if id not in self.cases
            else "empty"
            for id in usual
            if not self.has(id, usual)
        )
        if not reasons:
            return ""
        no_output = "have no output" if self.k == 0 else f"have no output {self.k}"
        words = [
            f"{reasons[kind]} {text}"
            for kind, text in (
                ("empty", no_output),
                ("absent", "are not in it"),
                ("other", "are other cases under the same id"),
            )
            if reasons[kind]
        ]
        total = sum(reasons.values())
        return f"run '{self.name}' lacks {total} of {len(usual)} cases: {', '.join(words)}"


def _usual_digests(held: Iterable[_Held]) -> dict[str, str]:
    """By id, the content that most runs have there."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in held:
        for id, row in one.cases.items():
            found[id][row.digest] += 1
    return {id: min(counts, key=lambda d: (-counts[d], d)) for id, counts in found.items()}


def sample(cases: Iterable[Candidate], per_organ: int, seed: int) -> Sample:
    """`per_organ` cases of every organ, or all there are.

    Every case has a place of its own in a shuffled order, drawn from the seed and the case alone:
    neither the order of the cases nor the number of runs matters, and a case that goes leaves the
    rest as it was. A second case of one source picture is taken after a first one of all others.
    """
    if per_organ < 1:
        raise InputError(f"per_organ: expected 1 or more, found {per_organ}")
    organs: dict[str, list[Candidate]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: _place(seed, case)):
        organs[case.organ].append(case)
    taken: list[Candidate] = []
    rest: list[Candidate] = []
    facts: dict[str, tuple[int, int]] = {}
    for organ, found in sorted(organs.items()):
        name, ordered = organ or NO_ORGAN, _sources_first(found)
        taken += ordered[:per_organ]
        rest += ordered[per_organ:]
        facts[name] = (min(per_organ, len(found)), len(found))
    few = [f"{name} {there}" for name, (_, there) in facts.items() if there < per_organ]
    warnings = [f"fewer than the {per_organ} cases wished: {', '.join(few)}"] if few else []
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

"""Which outputs of which cases there are to see, and one of them opened.

A visit is plain data and travels; pictures are read where the work is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.caseset import CaseHash, CaseSet
from medebench.errors import ImageError, InputError
from medebench.images.picture import Picture
from medebench.outputs import PARTS, Output, OutputFiles, Part, Stored
from medebench.reason import Reason
from medebench.runs.case_state import CasesNow
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run_folder import Run


@dataclass(frozen=True)
class Scored:
    """What a score in the ledger was computed from, and by which variant."""

    output: str | None
    seen: str | None
    variant: str | None
    #: A reason that came before any metric or judge was asked: it holds for every variant.
    unasked: bool


@dataclass(frozen=True)
class Target:
    """One output, with what the ledger knows of it; without a row it is still to be made."""

    run: int
    case_id: str
    k: int
    row: OutputRow | None
    files: OutputFiles
    #: Of the case as it is now.
    now: CaseHash
    #: Why the output is not one of this case any more, if so.
    outdated: Reason | None = None
    scored: Mapping[str, Scored] = field(default_factory=dict)
    #: What the task asks for in this case, and default metrics that are not about it.
    gives: tuple[Part, ...] = PARTS
    set_aside: frozenset[str] = frozenset()

    def lacks(self, name: str, sha: str | None, variant: str | None) -> bool:
        """Whether there is no score of this picture, this case and this variant."""
        known = self.scored.get(name)
        if known is None or known.output != sha:
            return True
        if not known.unasked and variant not in (None, known.variant):
            return True
        # That there is no picture is true of the case in every state.
        return sha is not None and known.seen != self.now.digest

    @property
    def place(self) -> tuple[str, int]:
        return self.case_id, self.k

    @property
    def known(self) -> OutputRow:
        assert self.row is not None
        return self.row


@dataclass(frozen=True)
class Visit:
    """A case and all that is to be seen of it, so that its pictures are decoded once."""

    case: Case
    targets: tuple[Target, ...]


def new_targets(run: Run, case: Case, ks: Iterable[int], cases: CaseSet) -> tuple[Target, ...]:
    """Outputs of a case that are to be made."""
    now = cases.hashes[case.id]
    gives = run.asked_of(case)
    return tuple(
        Target(0, case.id, k, None, run.output_files(case.id, k), now, gives=gives) for k in ks
    )


class Wanting(Protocol):
    """What a stage tells of itself before it works."""

    @property
    def wanted(self) -> Mapping[str, str | None]: ...

    def wants(self, target: Target, sha: str | None) -> Sequence[str]: ...


class Opened:
    """An output under visit: its bytes read, and decoded when first asked for."""

    def __init__(self, target: Target, case: OpenCase) -> None:
        self.target, self.case = target, case
        self._stored: Stored | None = None
        self.sha: str | None = None
        self._reason: Reason | None = None
        if target.row is None:
            return
        try:
            self._stored = target.files.read()
            self.sha = self._stored.sha256
            self._reason = target.outdated
        except ImageError:
            # A file that appeared where there was none counts as an output.
            if target.row.sha256 is not None:
                self._reason = Reason("missing-file", "the output file is missing")
            else:
                self._reason = Reason("no-output", f"no output: {target.row.reason}")

    @property
    def key(self) -> tuple[str, int]:
        return self.target.place

    @property
    def output(self) -> Output | None:
        """Its image on the case's grid; None where there is a reason."""
        return self._decoded[0]

    @property
    def picture(self) -> Picture | None:
        return None if self.output is None else self.output.image

    def lacks(self, part: str) -> Reason | None:
        """Why there is no such part ("image", "text", or "output": any), if so."""
        if part in PARTS and part not in self.target.gives:
            return Reason("not-applicable", f"no {part} is asked for here")
        if self.output is None:
            return self._decoded[1] or Reason("no-output", "no output")
        if part == "output" or part in self.output.parts:
            return None
        why = self.output.detail.get("without", {}).get(part)
        return Reason("no-part", f"the output has no {part}{f': {why}' if why else ''}")

    def has_all(self) -> bool:
        """Whether every part that was asked for is there."""
        return self.output is not None and {*self.target.gives} <= {*self.output.parts}

    @cached_property
    def _decoded(self) -> tuple[Output | None, Reason | None]:
        if self._reason is not None or self._stored is None:
            return None, self._reason
        try:
            made = self.target.files.decode(self._stored, self.case.fit)
            return replace(made, detail=self.target.known.detail), None
        except ImageError as error:
            # Images of the case are named by path; an output is known by its case and k.
            text = str(error)
            for path in self.target.files.paths:
                if text.startswith(f"{path}: "):
                    text = f"unreadable output: {text[len(str(path)) + 2 :]}"
            return None, Reason("unreadable", text)

    def without(self, part: str, names: Sequence[str]) -> list[ScoreRow]:
        """The rows of an output that cannot be scored at all."""
        why, seen = self.lacks(part), self.target.now.digest
        return [ScoreRow(*self.key, name, self.sha, None, why, seen=seen) for name in names]

    def set_aside(self, names: Sequence[str]) -> list[ScoreRow]:
        """The rows of scores that are not about a case of this kind."""
        why = Reason("not-applicable", "not a score of this task")
        seen = self.target.now.digest
        wanted = [name for name in names if name in self.target.set_aside]
        return [ScoreRow(*self.key, name, self.sha, None, why, seen=seen) for name in wanted]

    def replaced(self) -> OutputRow | None:
        """The file was replaced by hand: from now on it is the output."""
        if self.target.row is None or self.sha is None or self.sha == self.target.row.sha256:
            return None
        return OutputRow(*self.key, self.sha, None, None, {"replaced": True})


def open_wanted(
    visit: Visit, stages: Sequence[Wanting]
) -> Iterator[tuple[Opened, list[Sequence[str]]]]:
    """The outputs of a case that a stage wants, one at a time, with what each wants of it."""
    case = open_case(visit.case)
    if any(target.row is not None for target in visit.targets):
        case = case.compared()
    for target in visit.targets:
        opened = Opened(target, case)
        wants = [stage.wants(target, opened.sha) for stage in stages]
        if any(wants):
            yield opened, wants


def take_stock(runs: Sequence[Run], ledgers: Sequence[Ledger], workers: int | None = None) -> None:
    """Look at the cases before anything is scored, and take over what changed unseen by editors.

    The outputs are still those of the case, and are scored again.
    """
    now = CasesNow(workers)
    for run, ledger in zip(runs, ledgers, strict=True):
        run.look_again(now)
        known = ledger.cases()
        new = [state.row for case_id, state in run.states.items() if state.row != known[case_id]]
        ledger.write(*new)


def take_files(run: Run, ledger: Ledger) -> int:
    """Take over outputs whose file was replaced, before anything is planned; how many are gone."""
    gone, replaced = 0, []
    for (case_id, k), row in ledger.outputs().items():
        try:
            sha = run.output_files(case_id, k).read().sha256
        except ImageError:
            gone += row.sha256 is not None
            continue
        if sha != row.sha256:
            replaced.append(OutputRow(case_id, k, sha, None, None, {"replaced": True}))
    ledger.write(*replaced)
    return gone


def plan_visits(
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    stages: Sequence[Wanting],
    retry_failed: bool = False,
) -> list[Visit]:
    """All outputs of `runs` that a stage may want, by case."""
    found: dict[Case, list[Target]] = {}
    names = {name for stage in stages for name in stage.wanted}
    for index, (run, ledger) in enumerate(zip(runs, ledgers, strict=True)):
        for target in _targets(index, run, ledger, names, retry_failed):
            row = target.known
            if row.sha256 is not None or any(stage.wants(target, None) for stage in stages):
                found.setdefault(run.cases[target.case_id], []).append(target)
    return [Visit(case, tuple(targets)) for case, targets in found.items()]


def _targets(
    index: int, run: Run, ledger: Ledger, names: set[str], retry_failed: bool
) -> Iterator[Target]:
    scored: dict[tuple[str, int], dict[str, Scored]] = {}
    for row in ledger.scores():
        if row.metric in names and not (retry_failed and row.reason is not None):
            variant = row.detail.get("variant")
            known = Scored(row.output, row.seen, variant, variant is None and row.value is None)
            scored.setdefault((row.case_id, row.k), {})[row.metric] = known
    for key, output in ledger.outputs().items():
        case_id, k = key
        if case_id not in run.cases:
            raise InputError(f"{run.path}: case {case_id} is no longer in {run.info.cases.source}")
        state, files = run.states[case_id], run.output_files(case_id, k)
        held = scored.get(key, {})
        case = run.cases[case_id]
        asked, aside = run.asked_of(case), run.task.set_aside(case)
        yield Target(index, case_id, k, output, files, state.now, state.reason, held, asked, aside)

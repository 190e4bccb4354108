"""The cases of runs as they are now, beside those that outputs and scores were made from.

What a system saw of a case must not change under its outputs: they would be outputs of another
case. What it did not see, such as the reference, may: then the outputs are scored again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from medebench.cases import Case, CaseSet, load_cases, open_case
from medebench.cases.caseset import CaseHash, hash_case
from medebench.cases.source_clusters import SEPARATOR
from medebench.errors import ImageError
from medebench.parallel import core_count_for, in_parallel
from medebench.reason import Reason
from medebench.runs.ledger import STALE, STALE_CASE, CaseRow, ScoreRow
from medebench.runs.ledger_file import CHANGED

#: What a system is shown only if RunInfo.sees names it; everything else of a case it always sees.
_HIDDEN = frozenset(
    {"id", "organ", "task", "groups", "reference", "roi", "keep", "answer", "key", "grid"}
    | {"caption", "description", "rephrased_prompt"}
)
_NAMES = {
    "previous": "previous image",
    "prompt": "instruction",
    "bits": "bit depth",
    "roi": "ROI mask",
    "keep": "keep mask",
    "description": "change description",
}


#: Cases or outputs that one thread hashes in one go.
TOGETHER = 64


class CasesNow:
    """The cases as they are now: each set and each case is read once for all runs over it."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers
        self._sets: dict[tuple[str, str], CaseSet] = {}
        self._hashes: dict[Case, CaseHash] = {}

    def load(self, source: str, task: str) -> CaseSet:
        if (source, task) not in self._sets:
            self._sets[source, task] = load_cases(source, task=task)
        return self._sets[source, task]

    def hashes(self, cases: CaseSet) -> dict[str, CaseHash]:
        new = [case for case in cases if case not in self._hashes]
        workers = self._workers or core_count_for(new[0].previous if new else None)
        groups = (new[i : i + TOGETHER] for i in range(0, len(new), TOGETHER))
        for group, hashes in in_parallel(_hashed, groups, workers):
            self._hashes.update(zip(group, hashes, strict=True))
        return {case.id: self._hashes[case] for case in cases}


def _hashed(cases: list[Case]) -> tuple[list[Case], list[CaseHash]]:
    return cases, [hash_case(case) for case in cases]


@dataclass(frozen=True)
class CaseState:
    """A case as it is now."""

    now: CaseHash
    #: Its row in the ledger, once the changes that no system saw are taken over.
    row: CaseRow
    #: Whether it is another than the ledger knows.
    changed: bool
    #: Why the outputs of the run are no outputs of this case, if so.
    reason: Reason | None

    @property
    def digest(self) -> str:
        return self.now.digest


def states_of(
    cases: CaseSet,
    rows: Mapping[str, CaseRow],
    sees: Collection[str],
    now: CasesNow,
) -> dict[str, CaseState]:
    """By id, the state of each case of a run that is still there."""
    hidden, hashes = _HIDDEN - set(sees), now.hashes(cases)
    if "reference" in sees:
        hidden -= {"answer", "key"}
    return {case.id: _state(case, hashes[case.id], rows[case.id], hidden) for case in cases}


def _state(case: Case, now: CaseHash, row: CaseRow, hidden: frozenset[str]) -> CaseState:
    taken = CaseRow.of(case, now, row.source)
    if now.digest == row.digest:
        return CaseState(now, taken, False, None)
    if not row.parts:
        words = f"{CHANGED}, its ledger is too old to say how; edit it again"
        return CaseState(now, row, True, Reason("case-changed", words))
    changed = now.differs(CaseHash(row.digest, row.parts)) - hidden
    if "previous" in changed and _same_pixels(case, row):
        changed -= {"previous"}
    if not changed:
        return CaseState(now, taken, True, None)
    named = " and ".join(_NAMES.get(name, name) for name in sorted(changed))
    words = f"{CHANGED} ({named}); edit it again"
    return CaseState(now, row, True, Reason("case-changed", words))


def _same_pixels(case: Case, row: CaseRow) -> bool:
    """Whether the input was only written anew, as by a tool that removes what a file says of it."""
    try:
        source = open_case(case).source
        # Earlier ledgers know the first of several images alone.
        return row.source in (source, source.split(SEPARATOR)[0])
    except ImageError:
        return False


def as_valid_now(row: ScoreRow, output: str | None, digest: str | None) -> ScoreRow:
    """The score, or, if it is one of another picture or of an earlier state of the case, a reason.

    `output` is the hash of the output as it is now, `digest` that of the case.
    """
    if row.output is None and row.value is None:
        # About an output that is not there, whatever became of the case.
        return row
    if output is None or row.output != output:
        return _reason(row, STALE)
    return row if row.seen == digest else _reason(row, STALE_CASE)


def _reason(row: ScoreRow, reason: Reason) -> ScoreRow:
    return replace(row, value=None, reason=reason, detail={})


def outdated_words(scores: int, cases: int, runs: Iterable[str]) -> str:
    """
    >>> outdated_words(6, 1, ["runs/blur"])
    '6 scores of 1 case are out of date and left out: the output, or files or texts of the case, \
changed after they were computed; run `medebench score runs/blur` with the same metrics and judge \
as before, and `ground` if it was used'
    """
    one = cases == 1
    return (
        f"{scores:,} score{'' if scores == 1 else 's'} of {cases:,} case{'' if one else 's'} "
        f"{'is' if scores == 1 else 'are'} out of date and left out: the output{'' if one else 's'}"
        f", or files or texts of the case{'' if one else 's'}, changed after they were computed; "
        "run `medebench score "
        f"{' '.join(runs)}` with the same metrics and judge as before, and `ground` if it was "
        "used"
    )

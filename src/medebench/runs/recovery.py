"""Putting a ledger with damaged rows right: what can be found again is, the rest is done again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.cases import Case, load_cases, open_case
from medebench.cases.caseset import hash_case
from medebench.editors import case_seed
from medebench.errors import ImageError, InputError
from medebench.files import read_bytes, sha256
from medebench.runs.ledger import (
    CaseRow,
    Ledger,
    OutputRow,
    ScoreRow,
    SetRow,
    Whole,
    in_words,
)

if TYPE_CHECKING:
    from medebench.runs.run import Run

DAMAGED = "its row in the ledger was damaged; score again"
DAMAGED_OUTPUT = "its row in the ledger was damaged and it has no picture; adopt it again"


@dataclass(frozen=True)
class Recovery:
    """What was damaged, and what became of it."""

    #: By table, how many rows.
    damaged: dict[str, int]
    #: Outputs that were found again by their pictures.
    recovered: int

    def __str__(self) -> str:
        rows = sum(self.damaged.values())
        words = f"{rows} damaged row{'' if rows == 1 else 's'} in the ledger"
        words = f"{words} ({in_words(self.damaged)})"
        told = []
        if lost := self.damaged.get("outputs", 0):
            told.append(f"{self.recovered} of {lost} outputs found again by their pictures")
            if self.recovered < lost:
                told.append("`edit` or `adopt` makes the others again")
        if "cases" in self.damaged:
            told.append("cases read again from their set")
        if "scores" in self.damaged or "sets" in self.damaged:
            told.append("scores are computed again by the metrics and the judge of before")
        return f"{words}: {'; '.join(told)}"


def recover(run: Run, ledger: Ledger) -> Recovery | None:
    """Replace damaged rows, if there are any; whatever cannot be known again is left to be done."""
    damage = ledger.damage()
    if not damage:
        return None
    whole = ledger.whole()
    cases: list[CaseRow] = []
    if "cases" in damage:
        cases = list(_cases(run, ledger, whole, damage["cases"]))
    known = whole.cases | {row.case_id: row for row in cases}
    outputs = list(_outputs(run, whole, known)) if "outputs" in damage else []
    found = whole.outputs | {(row.case_id, row.k): row for row in outputs}
    scores = list(_scores(whole, found, damage.get("scores", [])))
    # One part of them is missing now: none may be taken for all there is.
    sets = [_again(row) for row in whole.sets] if "sets" in damage else []
    ledger.restore(whole, [*cases, *outputs, *scores], sets)
    counts = {table: len(rows) for table, rows in damage.items()}
    return Recovery(counts, sum(row.sha256 is not None for row in outputs))


def _cases(
    run: Run, ledger: Ledger, whole: Whole, damaged: list[tuple[Any, ...]]
) -> Iterator[CaseRow]:
    """The rows of cases anew; the digest only where it is certain to be that of the edit."""
    named = {case_id for case_id, _ in whole.outputs} | {row.case_id for row in whole.scores}
    named |= {case_id for case_id, _, _ in _pictures(run)}
    wanted = sorted(named - set(whole.cases))
    try:
        there = load_cases(run.info.cases.source)
    except InputError as error:
        raise InputError(
            f"{ledger.path}: {len(damaged)} rows of cases are damaged, and the cases cannot be "
            f"read: {error}"
        ) from None
    own = there.select(ids=[one for one in sorted({*whole.cases, *wanted}) if one in there])
    unchanged = own.fingerprint == run.info.cases.fingerprint
    certain = {row[3] for row in damaged} | {row.seen for row in whole.scores}
    for case_id in wanted:
        if case_id not in there:
            yield CaseRow(case_id, "", "", "", f"unknown-{case_id}")
            continue
        yield _case(there[case_id], unchanged, certain)


def _case(case: Case, unchanged: bool, certain: set[Any]) -> CaseRow:
    now = hash_case(case)
    try:
        source = open_case(case).source
    except ImageError:
        source = f"unreadable-{case.id}"
    if unchanged or now.digest in certain:
        return CaseRow.of(case, now, source)
    return CaseRow(case.id, case.organ, case.task, "", source)


def _outputs(run: Run, whole: Whole, cases: dict[str, CaseRow]) -> Iterator[OutputRow]:
    """What lies in the folder of outputs without a row: a picture there is the output."""
    missing = set(cases) - {case_id for case_id, _ in whole.outputs}
    for case_id, k, path in _pictures(run):
        if case_id in cases and (case_id, k) not in whole.outputs:
            missing.discard(case_id)
            yield _output(run, path, case_id, k)
    if run.info.adopted_from is not None:
        for case_id in sorted(missing):
            yield OutputRow(case_id, 0, None, DAMAGED_OUTPUT)


def _pictures(run: Run) -> Iterator[tuple[str, int, Path]]:
    for path in sorted(run.edits.glob("*.png")):
        if parts := re.fullmatch(r"(.+)_(\d{1,6})", path.stem):
            yield parts[1], int(parts[2]), path


def _output(run: Run, path: Path, case_id: str, k: int) -> OutputRow:
    info = run.info
    detail: dict[str, Any] = {"recovered": True}
    if run.attention_path(case_id, k).is_file():
        detail["attention"] = {}
    if k < len(info.sweep):
        detail["settings"] = info.sweep[k]
    seed = None
    if info.adopted_from is None:
        seed = case_seed(info.seed, case_id, 0 if info.sweep else k)
    return OutputRow(case_id, k, sha256(read_bytes(path)), None, seed, detail)


def _scores(
    whole: Whole, outputs: dict[tuple[str, int], OutputRow], damaged: list[tuple[Any, ...]]
) -> Iterator[ScoreRow]:
    """A reason in place of each score whose key can still be read: it is missing, not absent."""
    metrics = {row.metric for row in whole.scores}
    there = {(row.case_id, row.k, row.metric) for row in whole.scores}
    for case_id, k, metric, *_ in damaged:
        output = outputs.get((case_id, k))
        if metric in metrics and output and output.sha256 and (case_id, k, metric) not in there:
            yield ScoreRow(case_id, k, metric, None, None, DAMAGED, seen="")


def _again(row: SetRow) -> SetRow:
    """Of no outputs there are, so that it is computed again."""
    return SetRow(
        row.metric, row.part, "", row.variant, None, DAMAGED, None, row.n, row.n_references
    )

"""Putting a ledger with damaged rows right: what can be found again is, the rest is done again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from medebench.cases import Case, load_cases, open_case
from medebench.cases.caseset import hash_case
from medebench.errors import InputError
from medebench.outputs import CODECS
from medebench.reason import Reason
from medebench.runs.ledger import (
    CaseRow,
    Ledger,
    OutputRow,
    ScoreRow,
    SetRow,
    Whole,
    in_words,
)
from medebench.systems import case_seed

if TYPE_CHECKING:
    from medebench.runs.run_folder import Run

DAMAGED = Reason("damaged", "its row in the ledger was damaged; score again")
DAMAGED_OUTPUT = Reason(
    "damaged", "its row in the ledger was damaged and its file is gone; adopt it again"
)


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
            told.append(f"{self.recovered} of {lost} outputs found again by their files")
            if self.recovered < lost:
                told.append("`edit` or `adopt` makes the others again")
        if "cases" in self.damaged:
            told.append("cases read again from their set")
        if "scores" in self.damaged or "sets" in self.damaged:
            told.append("scores are computed again by the same metrics and judge as before")
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
    named |= {case_id for case_id, _ in _files(run)}
    wanted = sorted(named - set(whole.cases))
    try:
        there = load_cases(run.info.cases.source, task=run.info.task)
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
    row = CaseRow.of_opened(open_case(case), hash_case(case))
    if unchanged or row.digest in certain:
        return row
    return replace(row, digest="", parts={})


def _outputs(run: Run, whole: Whole, cases: dict[str, CaseRow]) -> Iterator[OutputRow]:
    """What lies in the folder of outputs without a row: a file there is the output."""
    missing = set(cases) - {case_id for case_id, _ in whole.outputs}
    for case_id, k in _files(run):
        if case_id in cases and (case_id, k) not in whole.outputs:
            missing.discard(case_id)
            yield _output(run, case_id, k)
    if run.info.adopted_from is not None:
        for case_id in sorted(missing):
            yield OutputRow(case_id, 0, None, DAMAGED_OUTPUT)


def _files(run: Run) -> list[tuple[str, int]]:
    """The outputs that have a file in the folder."""
    suffixes = {CODECS[part].suffix for part in run.info.gives}
    stems = {path.stem for path in run.edits.iterdir() if path.suffix in suffixes}
    found = (re.fullmatch(r"(.+)_(\d{1,6})", stem) for stem in sorted(stems))
    return [(parts[1], int(parts[2])) for parts in found if parts]


def _output(run: Run, case_id: str, k: int) -> OutputRow:
    info = run.info
    detail: dict[str, Any] = {"recovered": True}
    if run.attention_path(case_id, k).is_file():
        detail["attention"] = {}
    if k < len(info.sweep):
        detail["settings"] = info.sweep[k]
    seed = None
    if info.adopted_from is None:
        seed = case_seed(info.seed, case_id, 0 if info.sweep else k)
    return OutputRow(case_id, k, run.output_files(case_id, k).read().sha256, None, seed, detail)


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

"""One finding per output, settled anew from what the ledger holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from medebench.files import sha256
from medebench.grounding import Evidence, Thresholds, diagnose
from medebench.metrics import Undefined
from medebench.reason import reason_of
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.output_stage import OutputStage
from medebench.runs.visits import Opened

#: The score that carries the finding: 1 success, 0 failure; its detail names the type.
FINDING = "success"
#: A score that every compared output has, whatever its case lacks.
_ALWAYS = "change_area"

Scores = Mapping[str, ScoreRow]


class RunDiagnosis(OutputStage):
    """Sees no picture: it concludes from the scores."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds

    def do(self, opened: Opened, names: Sequence[str]) -> tuple[()]:
        return ()

    def conclude(
        self, index: int, run: Run, ledger: Ledger, failures: Failures
    ) -> Sequence[ScoreRow]:
        """The findings that are new or have changed."""
        outputs = ledger.outputs()
        rows: dict[tuple[str, int], dict[str, ScoreRow]] = {key: {} for key in outputs}
        for row in ledger.scores():
            if (row.case_id, row.k) in rows:
                rows[row.case_id, row.k][row.metric] = row
        digests = {case_id: row.digest for case_id, row in ledger.cases().items()}
        found = (
            _finding(outputs[key], digests[key[0]], rows[key], self._thresholds) for key in outputs
        )
        return [row for row in found if not _same(row, rows[row.case_id, row.k].get(FINDING))]


def _finding(output: OutputRow, digest: str, rows: Scores, thresholds: Thresholds) -> ScoreRow:
    where = output.case_id, output.k
    compared = rows.get(_ALWAYS)
    if compared is not None and compared.value is None:
        reason, seen = compared.reason, compared.seen
        return ScoreRow(*where, FINDING, compared.output, None, reason, seen=seen)
    own = {
        name: row
        for name, row in rows.items()
        if row.output == output.sha256 and row.seen == digest
    }
    judge = best_judge(own.values())
    evidence = Evidence.of({name: row.value for name, row in own.items()}, judge)
    detail: dict[str, Any] = {"variant": variant_of(thresholds), "judge": judge}
    detail["evidence"] = {name: one for name, one in asdict(evidence).items() if one is not None}
    if given := thresholds.model_dump(exclude_defaults=True):
        detail["thresholds"] = given
    try:
        finding = diagnose(evidence, thresholds)
    except Undefined as error:
        reason = reason_of(error)
        return ScoreRow(*where, FINDING, output.sha256, None, reason, detail, seen=digest)
    detail |= {"type": finding.type, "why": finding.why}
    value = 1.0 if finding.type == "success" else 0.0
    return ScoreRow(*where, FINDING, output.sha256, value, None, detail, seen=digest)


def best_judge(rows: Iterable[ScoreRow]) -> str | None:
    """Whose EA of one output to believe: a model's before a stand-in's, then by name.

    The offline judge gives none: it knows no more than the measures here.
    """
    judged = {
        row.metric.partition("_")[2]: row
        for row in rows
        if row.metric.startswith("ea_") and row.value is not None
    }
    stand_in = {name: bool(row.detail.get("stand_in")) for name, row in judged.items()}
    return min(judged, key=lambda name: (stand_in[name], name), default=None)


def variant_of(thresholds: Thresholds) -> str:
    text = json.dumps(thresholds.model_dump(), sort_keys=True)
    return sha256(text.encode())[:16]


def _same(row: ScoreRow, known: ScoreRow | None) -> bool:
    return known is not None and row == replace(known, seconds=row.seconds)

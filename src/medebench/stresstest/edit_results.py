"""The result of each edit, and the facts needed to repeat the test."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from medebench.metrics import BatchMetric
from medebench.runs import Run
from medebench.runs.provenance import now, versions
from medebench.stresstest.predictors import Predictor
from medebench.stresstest.rows import Answers
from medebench.stresstest.sample import IntendedEdit
from medebench.stresstest.stress_outcome import EditOutcome
from medebench.stresstest.stress_plan import StressPlan


def edits_of(
    run: Run, intended: Sequence[IntendedEdit], metric: BatchMetric | None, threshold: float
) -> list[EditOutcome]:
    """The result of each edit: kept, discarded or missing, and why."""
    with run.ledger() as ledger:
        outputs = ledger.outputs()
        rows = ledger.scores() if metric is not None else ()
        scores = {row.case_id: row for row in rows if metric and row.metric == metric.name}
    found = []
    for one in intended:
        row = outputs.get((one.id, 0))
        if row is None or row.sha256 is None:
            reason = row.reason if row and row.reason else "not made yet"
            found.append(EditOutcome(one, None, False, reason))
            continue
        name = run.output_path(one.id, 0).name
        if metric is None:
            found.append(EditOutcome(one, None, True, "", name))
            continue
        score = scores.get(one.id)
        if score is None or score.value is None:
            reason = score.reason if score and score.reason else "not scored yet"
            found.append(EditOutcome(one, None, False, reason, name))
            continue
        kept = score.value >= threshold
        reason = "" if kept else f"edit score {score.value:.2f} is below {threshold:g}"
        found.append(EditOutcome(one, score.value, kept, reason, name))
    return found


def with_answers(edit: EditOutcome, answers: Sequence[Answers]) -> EditOutcome:
    one = edit.intended
    return replace(
        edit,
        before={a.name: a.originals.get(one.sample.id) for a in answers},
        after={a.name: a.edits.get(one.id) for a in answers},
    )


def facts_of(
    plan: StressPlan, run: Run, predictors: Sequence[Predictor], metric: BatchMetric | None
) -> dict[str, Any]:
    """The facts needed to repeat the test."""
    return {
        "name": plan.name,
        "plan": plan.model.model_dump(mode="json"),
        "seed": plan.seed,
        "editor": run.info.editor,
        "editor_settings": run.info.settings,
        "edit_score": metric.name if metric else None,
        "edit_score_variant": metric.variant if metric else None,
        "threshold": plan.threshold,
        "predictors": {one.name: one.identity for one in predictors},
        "cases": run.info.cases.fingerprint,
        "versions": versions(),
        "written": now(),
    }


def fact_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts a reader of the page needs, as text."""
    wanted = ("edit_score", "edit_score_variant", "threshold", "seed")
    given = {name.replace("_", " "): facts[name] for name in wanted if facts[name] is not None}
    predictors = {f"predictor {name}": _brief(one) for name, one in facts["predictors"].items()}
    return [(name, str(value)) for name, value in (given | predictors).items()]


def _brief(identity: str) -> str:
    """For people: hashes as far as anybody reads them, no folders of this machine.

    >>> _brief('python mine.py 85c59e952881027a Mine {} ')
    'python mine.py 85c59e952881 Mine'
    >>> _brief('command 1 [["/home/my folder/python", "envs/predict.py"], {}]')
    'command 1 [["python", "envs/predict.py"], {}]'
    """
    short = re.sub(r"\b([0-9a-f]{12})[0-9a-f]+\b", r"\1", identity)
    named = re.sub(r'"(?:[A-Za-z]:)?[\\/][^"]*[\\/]([^"\\/]+)"', r'"\1"', short)
    return re.sub(r" \{\}(?=\s|$)", "", named).strip()

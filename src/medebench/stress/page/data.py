"""What the scripts of the page are given: the predictors, and every edit as a small object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medebench.report.palette import Colour
from medebench.stress.measures import THRESHOLD
from medebench.stress.outcome import EditOutcome, StressOutcome
from medebench.stress.page.making import Making
from medebench.stress.page.pictures import SMALL, Shown
from medebench.stress.page.texts import status, why_not
from medebench.stress.verdict import FRAGILE_DICE


def page_data(
    outcome: StressOutcome,
    shown: Mapping[str, Shown],
    colours: Mapping[str, Colour],
    making: Making,
) -> dict[str, Any]:
    """See `static/edits.js` for the reader."""
    return {
        "task": outcome.task,
        "threshold": outcome.threshold,
        "scored": bool(outcome.encoder),
        "positive": making.positive,
        "small": SMALL,
        "lost": FRAGILE_DICE,
        "predictors": [
            {
                "name": one.name,
                "colour": colours[one.name].variable,
                "control": one.reference,
                "cutoff": making.cutoffs.get(one.name, THRESHOLD),
            }
            for one in outcome.predictors
        ],
        "edits": [
            _edit(outcome, edit, shown.get(edit.intended.id, Shown()), making)
            for edit in outcome.edits
        ],
    }


def _edit(
    outcome: StressOutcome, edit: EditOutcome, shown: Shown, making: Making
) -> dict[str, Any]:
    one, sample = edit.intended, edit.intended.sample
    names = [predictor.name for predictor in outcome.predictors]
    before, after = (
        [_short(said.get(name)) for name in names] for said in (edit.before, edit.after)
    )
    right = [
        [making.right(outcome, name, label, said.get(name)) for name in names]
        for label, said in ((sample.label, edit.before), (one.label, edit.after))
    ]
    every = {
        "id": one.id,
        "sample": sample.id if sample.id != one.id else "",
        "group": sample.group,
        "kind": one.kind,
        "prompt": one.prompt,
        "caption": sample.caption,
        "labels": [sample.label, one.label] if sample.label or one.label else None,
        "status": status(edit),
        "score": _short(edit.score),
        "why": why_not(edit, outcome),
        "output": edit.output,
        "size": [shown.width, shown.height] if shown.width else None,
        "before": shown.before,
        "after": shown.after,
        "difference": shown.difference,
        "wanted": shown.wanted,
        "masks": shown.masks,
        "has": [shown.has_edit, shown.has_keep],
        "predicted": [shown.predicted.get(name) for name in names] if shown.predicted else None,
        "changes": [_short(value) for value in shown.changes] if shown.difference else None,
        "trouble": shown.trouble,
        "said": [before, after],
        "right": right if any(value is not None for some in right for value in some) else None,
    }
    return {name: value for name, value in every.items() if value not in ("", None)}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")

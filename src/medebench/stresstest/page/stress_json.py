"""The outcome as JSON: everything the page is made from, but the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medebench.analysis.estimate import Estimate
from medebench.stresstest.page.edit_images import EditImages
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.stress_formats import status, why_not
from medebench.stresstest.page.stress_tables import Tables, counts
from medebench.stresstest.stress_outcome import StressOutcome


def results_json(
    outcome: StressOutcome, shown: Mapping[str, EditImages], making: PageContext
) -> dict[str, Any]:
    """What `results.json` holds; a missing number is null, with its reason beside it."""
    return {
        "format": 1,
        "name": outcome.name,
        "task": outcome.task,
        "headline": outcome.headline,
        "positive": making.positive or None,
        "shift": making.shift.name if making.shift else None,
        "about": making.about or None,
        "pictures": len(outcome.samples),
        "edits_asked_for": len(outcome.edits),
        **{f"edits_{word}": n for word, n in counts(outcome).items()},
        "threshold": outcome.threshold,
        "encoder": outcome.encoder or None,
        "verdict": dict(outcome.verdict),
        "words": list(outcome.words),
        "predictors": [
            {
                "name": one.name,
                "reference": one.reference,
                "table": _tables(one.table),
                "kinds": {kind: _tables(tables) for kind, tables in one.kinds.items()},
            }
            for one in outcome.predictors
        ],
        "thresholds": [
            {
                "threshold": at.threshold,
                "kept": at.kept,
                "thrown": at.thrown,
                "edited": {name: _estimate(found) for name, found in at.edited.items()},
                "verdict": dict(at.verdict),
            }
            for at in outcome.thresholds
        ],
        "edits": [
            {
                "id": edit.intended.id,
                "sample": edit.intended.sample.id,
                "group": edit.intended.sample.cluster,
                "kind": edit.intended.kind,
                "prompt": edit.intended.prompt,
                "caption": edit.intended.sample.caption,
                "label_before": edit.intended.sample.label,
                "label_after": edit.intended.label,
                "status": status(edit),
                "score": edit.score,
                "reason": why_not(edit, outcome) or None,
                "output": edit.output or None,
                "mean_change": dict(
                    zip(("edit", "keep", "elsewhere"), shown[edit.intended.id].changes, strict=True)
                )
                if edit.intended.id in shown
                else None,
                "before": dict(edit.before),
                "after": dict(edit.after),
            }
            for edit in outcome.edits
        ],
        "how": {title: dict(pairs) for title, pairs in making.facts},
    }


def _tables(tables: Tables) -> dict[str, Any]:
    return {
        which: {name: _estimate(found) for name, found in cells.items()}
        for which, cells in tables.items()
    }


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "pictures": found.n,
        "reason": found.reason or None,
    }

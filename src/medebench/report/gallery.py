"""The gallery's data: plain arrays, so that thousands of outputs stay a small file."""

from __future__ import annotations

from typing import Any

import polars as pl

from medebench.report.artist import CaseView, OutputView
from medebench.report.collect import NO_ORGAN, NO_TASK, Material
from medebench.report.diagnosis import Diagnosis
from medebench.report.pictures import SMALL
from medebench.report.views import Views

DECIMALS = 4


class _Table:
    """Texts that occur many times, kept once and referred to by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def gallery_data(
    material: Material, views: Views, diagnosis: Diagnosis | None = None
) -> dict[str, Any]:
    """See `static/store.js` for the reader of these arrays, and `static/packs.js` for the packs."""
    organs, tasks, reasons = _Table(), _Table(), _Table()
    numbers = {key: number for number, key in enumerate(views.order)}
    cases = []
    for key in views.order:
        case, view = material.cases.get(key), views.cases[key]
        texts = [case.prompt, case.rephrased_prompt, case.description] if case else ["", "", ""]
        cases.append(
            [
                key,
                organs.number((case.organ if case else "") or NO_ORGAN),
                tasks.number((case.task if case else "") or NO_TASK),
                *texts,
                view.previous,
                view.reference,
                view.outline,
                view.width,
                view.height,
                view.share,
                reasons.number(view.trouble) if view.trouble else None,
            ]
        )
    return {
        "cases": cases,
        "organs": organs.texts,
        "tasks": tasks.texts,
        "reasons": reasons.texts,
        "outputs": _outputs(material, views, numbers, reasons),
        "grounded": None if diagnosis is None else _grounded(material, views, diagnosis, numbers),
        "packs": {"names": views.packs, "together": views.together, "small": SMALL},
    }


def _grounded(
    material: Material, views: Views, diagnosis: Diagnosis, numbers: dict[str, int]
) -> list[list[list[Any]]]:
    """For every run [case number, k, type or null, {kind: overlay}] of each output."""
    found: list[list[list[Any]]] = [[] for _ in material.entries]
    for one in diagnosis.found:
        place = one.entry.index, one.case, one.k
        shown = {overlay.kind: overlay.key for overlay in views.overlays.get(place, ())}
        found[one.entry.index].append([numbers[one.case], one.k, one.type, shown])
    return found


def _outputs(
    material: Material, views: Views, numbers: dict[str, int], reasons: _Table
) -> list[dict[str, Any]]:
    """For every run: case numbers, ks, picture keys, and a column for every score.

    A missing score is null, and its reason is found in `why` under the output's place.
    """
    found = []
    every = pl.concat([material.frame, material.grounded]).unique(maintain_order=True)
    for entry in material.entries:
        order = sorted(entry.outputs, key=lambda one: (numbers[one[0]], one[1]))
        places = {one: place for place, one in enumerate(order)}
        shown = [views.outputs[(entry.index, *one)] for one in order]
        values: dict[str, list[float | None]] = {}
        why: dict[str, dict[int, int]] = {}
        rows = every.filter(pl.col("run") == entry.name)
        for case, k, metric, value, reason in rows.select(
            "case", "k", "metric", "value", "reason"
        ).iter_rows():
            place = places.get((case, k))
            if place is None:
                continue
            if metric not in values:
                values[metric] = [None] * len(order)
            if value is None:
                why.setdefault(metric, {})[place] = reasons.number(reason or "no reason given")
            else:
                values[metric][place] = round(value, DECIMALS)
        found.append(
            {
                "case": [numbers[key] for key, _ in order],
                "k": [k for _, k in order],
                "picture": [view.key for view in shown],
                "size": {
                    place: f"{view.width} × {view.height}"
                    for place, (one, view) in enumerate(zip(order, shown, strict=True))
                    if view.width and not _same_size(view, views.cases[one[0]])
                },
                "trouble": {
                    place: reasons.number(view.trouble)
                    for place, view in enumerate(shown)
                    if view.trouble
                },
                "values": dict(sorted(values.items())),
                "why": dict(sorted(why.items())),
            }
        )
    return found


def _same_size(output: OutputView, case: CaseView) -> bool:
    return (output.width, output.height) == (case.width, case.height)

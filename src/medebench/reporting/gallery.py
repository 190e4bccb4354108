"""The gallery's data: plain arrays, so that thousands of outputs stay a small file."""

from __future__ import annotations

from typing import Any

import polars as pl

from medebench.page.web_images import SMALL
from medebench.reporting.answers_read import READ
from medebench.reporting.case_artist import CaseView, OutputView
from medebench.reporting.case_views import Views
from medebench.reporting.collect import Entry, Material
from medebench.reporting.diagnosis import Diagnosis

DECIMALS = 4


#: Texts that occur many times, kept once and referred to by number.
Numbers = dict[str, int]


def _number(table: Numbers, text: str) -> int:
    return table.setdefault(text, len(table))


def gallery_data(
    material: Material, views: Views, diagnosis: Diagnosis | None = None
) -> dict[str, Any]:
    """See `static/store.js` for the reader of these arrays, and `static/packs.js` for the packs."""
    groups: list[Numbers] = [{} for _ in material.groups]
    reasons: Numbers = {}
    numbers = {key: number for number, key in enumerate(views.order)}
    cases = []
    for key in views.order:
        view, names = views.cases[key], material.group_values(key)
        cases.append(
            [
                key,
                [_number(table, name) for table, name in zip(groups, names, strict=True)],
                view.texts,
                view.shots,
                view.outline,
                view.width,
                view.height,
                view.share,
                _number(reasons, view.trouble) if view.trouble else None,
                *([_gives(material, key)] if material.mixed else []),
            ]
        )
    return {
        "cases": cases,
        "groups": [list(table) for table in groups],
        "outputs": _outputs(material, views, numbers, reasons),
        "reasons": list(reasons),
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
    material: Material, views: Views, numbers: dict[str, int], reasons: Numbers
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
                why.setdefault(metric, {})[place] = _number(reasons, reason or "no reason given")
            else:
                values[metric][place] = round(value, DECIMALS)
        found.append(
            {
                "case": [numbers[key] for key, _ in order],
                "k": [k for _, k in order],
                "picture": [view.key if view.width else "" for view in shown],
                "card": [view.key for view in shown] if any(v.card for v in shown) else [],
                "size": {
                    place: f"{view.width} × {view.height}"
                    for place, (one, view) in enumerate(zip(order, shown, strict=True))
                    if view.width and _other_size(view, views.cases[one[0]])
                },
                "trouble": {
                    place: _number(reasons, view.trouble)
                    for place, view in enumerate(shown)
                    if view.trouble
                },
                "read": _read(material, entry, places),
                "values": dict(sorted(values.items())),
                "why": dict(sorted(why.items())),
            }
        )
    return found


def _gives(material: Material, key: str) -> list[str]:
    case = material.cases.get(key)
    return [*(material.task.gives if case is None else material.task.of(case).gives)]


def _read(
    material: Material, entry: Entry, places: dict[tuple[str, int], int]
) -> dict[int, list[str]]:
    """How an answer to a closed question was read: the status, what was read, and the score."""
    keys = {material.places[key][1]: key for key in entry.cases}
    found = {}
    for row in entry.told:
        status, read = row.detail.get("status"), row.detail.get("read", row.detail.get("letter"))
        place = places.get((keys.get(row.case_id, ""), row.k))
        if place is not None and isinstance(status, str) and row.value is not None:
            right = "right" if row.value >= 1 else "wrong" if status in READ else "unread"
            found[place] = [right, status, str(read or "")]
    return found


def _other_size(output: OutputView, case: CaseView) -> bool:
    return bool(case.width) and (output.width, output.height) != (case.width, case.height)

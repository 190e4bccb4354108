"""The results on a terminal: one table of models, one of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medebench.analysis.ranked import Estimate
from medebench.report.facts import STAND_IN
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.texts import (
    NONE,
    ends,
    metric_label,
    number,
    percent,
    percent_ends,
)
from medebench.study.results.verdict import leader, metric_order, race, standing_of

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

#: What a name and one dimension take, and how many metrics are shown.
_NAME_WIDTH, _COLUMN_WIDTH, _MOST = 22, 19, 12


def rich_tables(results: StudyResults, width: int | None = None) -> list[Table]:
    """Compact tables; where the terminal is narrow, the last dimensions are left to the files."""
    fit = len(results.dimensions)
    if width is not None:
        fit = min(fit, max(1, (width - _NAME_WIDTH - 4) // _COLUMN_WIDTH))
    shown = list(results.dimensions[:fit])
    left = len(results.dimensions) - fit
    more = f" {left} more dimensions do not fit here; they are in the files." if left else ""
    found = [_standings(results, shown, more)]
    if any(one.worths for one in shown):
        found.append(_metrics(results, [one for one in shown if one.worths]))
    return found


def _table(title: str, caption: str, shown: list[DimensionResults]) -> Table:
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption),
        caption_justify="left",
        expand=False,
    )
    made.add_column("", overflow="fold", min_width=_NAME_WIDTH - 4)
    for one in shown:
        made.add_column(Text(one.name), justify="right")
    return made


def _standings(results: StudyResults, shown: list[DimensionResults], more: str) -> Table:
    from rich.text import Text

    caption = "Chance to be ranked above another model, 95 % interval, mean rank." + more
    made = _table("People prefer", caption, shown)
    order = {one.model: place for place, one in enumerate(shown[0].ordering.standings)}
    for name in sorted(results.models, key=lambda one: order.get(one, len(order))):
        label = Text(name)
        if name in results.controls:
            label.append("  control", style="dim")
        made.add_row(label, *(_standing(one, name, results) for one in shown))
    return made


def _standing(dimension: DimensionResults, name: str, results: StudyResults) -> Text:
    from rich.text import Text

    found = [one for one in dimension.ordering.standings if one.model == name]
    if not found or found[0].preferred.value is None:
        return Text(NONE)
    one = found[0]
    first = name == leader(dimension, results.controls)
    text = Text(percent(one.preferred.value), style="bold" if first else "")
    small = ", ".join(filter(None, [percent_ends(one.preferred.interval), _rank(one.mean_rank)]))
    return text.append(f"\n{small}" if small else "", style="not bold dim")


def _rank(one: Estimate) -> str:
    return "" if one.value is None else f"rank {number(one.value, 1)}"


def _metrics(results: StudyResults, shown: list[DimensionResults]) -> Table:
    from rich.text import Text

    names = metric_order(results)
    caption = "Spearman's rho with people per case, mean over cases, 95 % interval."
    if left := max(0, len(names) - _MOST):
        caption += f" {left} more metrics are in metrics.csv."
    if any(one.stand_in for name, one in results.scores.items() if name in names):
        caption += f" *: {STAND_IN}."
    made = _table("Metrics against people", caption, shown)
    # Whoever is first in a dimension is shown, however it does in the others.
    races = {one.key: race(one.worths) for one in shown if one.worths}
    firsts = {found.first.metric for found in races.values() if found}
    kept = {*names[: max(0, _MOST - len(firsts - set(names[:_MOST])))], *firsts}
    for name in (one for one in names if one in kept):
        label = Text(metric_label(name, results.scores.get(name)))
        score = results.scores.get(name)
        if score and score.stand_in:
            label.append(" *")
        cells = []
        for dimension in shown:
            assert dimension.worths is not None
            own = [one for one in dimension.worths.metrics if one.metric == name]
            first = bool(own) and standing_of(own[0], races[dimension.key]) == "first"
            cells.append(_rho(own[0].rho, first) if own else Text(NONE))
        made.add_row(label, *cells)
    made.add_section()
    ceilings = [one.worths.ceiling for one in shown if one.worths]
    made.add_row(Text("one person", style="italic"), *(_rho(one, False) for one in ceilings))
    return made


def _rho(one: Estimate, bold: bool) -> Text:
    from rich.text import Text

    text = Text(number(one.value), style="bold" if bold else "")
    around = ends(one.interval)
    part = "" if one.value is None or one.n == one.of else f"{one.n}/{one.of}"
    small = ", ".join(filter(None, [around, part]))
    return text.append(f"\n{small}" if small else "", style="not bold dim")

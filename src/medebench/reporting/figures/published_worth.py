"""How far metrics rank edits as people do, as published: a panel a dimension, a row a metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from medebench.analysis.published_tables import PublishedWorth, published_worth
from medebench.page.figure_style import bare, figure, plain
from medebench.page.palette import GRID, INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from medebench.reporting.learned import Learned

WIDTH = 7.2
_ROW = 0.215
_PANELS = {
    "EA": "EA, was it done",
    "CP": "CP, is the rest kept",
    "VQ": "VQ, does it look real",
}
#: What the learned metrics stand beside: row of the paper -> label.
_BESIDE = {
    "SSIM": "SSIM",
    "PSNR": "PSNR",
    "masked SSIM": "Masked SSIM (CP published)",
    "judge accuracy_description": "GPT-4o judge, EA",
    "judge quality_description": "GPT-4o judge, VQ",
}


@dataclass(frozen=True)
class Row:
    label: str
    rho: dict[str, float]
    #: "own" = of a metric of this report, "near" = of a relative of one, "beside" = of another
    kind: str


def draw(learned: Learned) -> AbstractContextManager[Figure] | None:
    rows = _rows(learned)
    return _draw(rows, published_worth()) if any(row.kind != "beside" for row in rows) else None


def caption(learned: Learned) -> str:
    table = published_worth()
    text = (
        f"Published, {table.name}: Spearman’s ρ of the ranks that a metric and people give to the "
        f"edits of a case, averaged over {table.cases} cases of its own; the dashed line is the "
        f"agreement of the two people with each other, {table.between_people}."
    )
    if any(row.kind == "near" for row in _rows(learned)):
        text += " Hollow: measured with another variant or encoder than the one in this report."
    text += " Below the gap: metrics that are not learned, and the paper’s judge."
    return f"{text} {table.doubt}"


def _rows(learned: Learned) -> list[Row]:
    """One for each row of the paper, however many variants of it are in the report."""
    found: dict[str, Row] = {}
    for worth in (one.worth for one in learned.about):
        if worth.row and (worth.exact or worth.row not in found):
            kind = "own" if worth.exact else "near"
            found[worth.row] = Row(worth.row.replace("_", " "), worth.rho, kind)
    rho = published_worth().rho
    return [*found.values(), *(Row(label, rho[row], "beside") for row, label in _BESIDE.items())]


@contextmanager
def _draw(rows: Sequence[Row], table: PublishedWorth) -> Iterator[Figure]:
    gap = 0.7
    places = [i + (gap if row.kind == "beside" else 0.0) for i, row in enumerate(rows)]
    body = _ROW * (max(places) + 1.2)
    height = body + 0.78
    with figure(WIDTH, height) as made:
        panels = made.subplots(
            1,
            len(_PANELS),
            sharey=True,
            gridspec_kw={
                "left": 0.225,
                "right": 0.955,
                "bottom": 0.46 / height,
                "top": 1 - 0.32 / height,
                "wspace": 0.26,
            },
        )
        for axes, (name, title) in zip(panels, _PANELS.items(), strict=True):
            _panel(axes, rows, places, name)
            axes.set_title(title, loc="left")
            axes.axvline(table.between_people, color=MUTED.light, lw=0.8, ls=(0, (3, 2)))
        panels[0].set_yticks(places, [plain(row.label, 30) for row in rows])
        panels[0].set_ylim(max(places) + 0.6, -0.6)
        panels[1].set_xlabel("Spearman’s ρ with people")
        yield made


def _panel(axes: Axes, rows: Sequence[Row], places: Sequence[float], name: str) -> None:
    for place, row in zip(places, rows, strict=True):
        value = row.rho[name]
        colour = MUTED.light if row.kind == "beside" else INK.light
        axes.plot([0, value], [place, place], color=GRID.light, lw=1.6, solid_capstyle="butt")
        axes.plot(
            value,
            place,
            marker="D" if row.kind == "beside" else "o",
            mfc="none" if row.kind == "near" else colour,
            mec=colour,
            mew=1.0,
            ms=3.6 if row.kind == "beside" else 4.6,
            ls="none",
        )
        # At the end of the row, where no dot and no line is.
        axes.text(1.17, place, f"{value:.2f}", ha="right", va="center_baseline", fontsize=7)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "", "0.5", "", "1"])
    axes.tick_params(axis="y", length=0)
    bare(axes)

"""The distribution of edit scores, and what the threshold discards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from medebench.page.figure import Sketch
from medebench.page.figure_style import bare, figure
from medebench.page.palette import INK, MUTED, TYPES, Colour
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.stress_outcome import StressOutcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEP = 0.05


def sketch(outcome: StressOutcome, _: Mapping[str, Colour], making: PageContext) -> Sketch | None:
    kept = [edit.score for edit in outcome.edits if edit.score is not None and edit.kept]
    thrown = [edit.score for edit in outcome.edits if edit.score is not None and not edit.kept]
    if not outcome.encoder or not (kept or thrown):
        return None
    make = partial(_draw, outcome, kept, thrown)
    return Sketch("scores", "Edit scores", _caption(outcome), make)


def _caption(outcome: StressOutcome) -> str:
    failed = sum(edit.score is None for edit in outcome.edits)
    text = (
        f"Edits by their score ({outcome.encoder}); those to the left of the line, below "
        f"{outcome.threshold:g}, were discarded."
    )
    if failed:
        text += f" {failed} without a score {'is' if failed == 1 else 'are'} not shown."
    return text


@contextmanager
def _draw(outcome: StressOutcome, kept: list[float], thrown: list[float]) -> Iterator[Figure]:
    from matplotlib.ticker import MaxNLocator

    every = [*kept, *thrown, outcome.threshold]
    # Bins begin at the threshold, so that none holds both kept and thrown.
    below = int(np.ceil((outcome.threshold - min(every)) / _STEP + 1e-9)) + 1
    above = int(np.ceil((max(every) - outcome.threshold) / _STEP + 1e-9)) + 1
    edges = outcome.threshold + _STEP * np.arange(-below, above + 1)
    with figure(5.6, 2.3) as made:
        axes = made.add_axes((0.09, 0.2, 0.88, 0.66))
        bare(axes, grid="y")
        look: Any = {"color": [TYPES["success"], TYPES["nothing"]], "hatch": ["", "/////"]}
        look |= {"edgecolor": MUTED.light, "linewidth": 0.5, "stacked": True}
        labels = [f"kept, {len(kept)}", f"discarded, {len(thrown)}"]
        axes.hist([kept, thrown], bins=edges.tolist(), label=labels, **look)
        axes.axvline(outcome.threshold, color=INK.light, lw=1.3)
        axes.set_xlim(float(edges[0]), float(edges[-1]))
        axes.set_xlabel("edit score")
        axes.set_ylabel("edits")
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)
        yield made

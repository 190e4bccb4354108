"""Whether edits in the right place are the right edits: IoU with the ROI against EA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from medebench.analysis import Correlation
from medebench.page.figure_style import WIDTH, bare, figure, legend_columns, plain, span
from medebench.page.palette import INK, Colour
from medebench.reporting.figures.inflation import MANY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from medebench.reporting.collect import Material
    from medebench.reporting.diagnosis import Diagnosis, Link

_PARTS = 5
_LEAST = 15


def draw(
    diagnosis: Diagnosis, material: Material, colours: Sequence[Colour]
) -> AbstractContextManager[Figure] | None:
    return _draw(diagnosis.links, material, colours) if diagnosis.links else None


def caption(links: Sequence[Link]) -> str:
    text = "Each point is one output; "
    if any(len(link.points) >= _LEAST for link in links):
        text += f"the line is the mean of {links[0].label} in each fifth of the outputs; "
    found = "; ".join(f"{link.kind} IoU: {rho_text(link.pooled)}" for link in links)
    text += "ρ is Spearman’s, with a 95 % interval over source images (jackknife; from eight on)."
    return f"{text} {found[:1].upper()}{found[1:]}."


def rho_text(found: Correlation | None) -> str:
    """ "ρ = 0.21 (−0.05 to 0.44, n = 63)"."""
    if found is None:
        return "no correlation, one of the two does not vary"
    ends = "no interval"
    if found.interval:
        ends = f"{_signed(found.interval.low)} to {_signed(found.interval.high)}"
    return f"ρ = {_signed(found.rho)} ({ends}, n = {found.n:,})"


def _short(found: Correlation | None) -> str:
    if found is None:
        return ""
    low, high = map(_signed, found.interval or (0.0, 0.0))
    return f"ρ = {_signed(found.rho)}" + (f"  [{low}, {high}]" if found.interval else "")


def _signed(value: float) -> str:
    text = f"{value:.2f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


@contextmanager
def _draw(links: Sequence[Link], material: Material, colours: Sequence[Colour]) -> Iterator[Figure]:
    shown = sorted({index for link in links for index, _, _ in link.points})
    labels = [plain(material.entries[index].name, 24) for index in shown]
    columns = legend_columns(labels, WIDTH)
    below = 0.45 + 0.2 * -(-len(shown) // columns)
    height = 2.6 + below
    with figure(WIDTH, height) as made:
        width = 0.9 / len(links)
        for number, link in enumerate(links):
            axes = made.add_axes(
                (
                    0.085 + number * (width + 0.02),
                    below / height,
                    width - 0.02 * (len(links) > 1),
                    2.35 / height,
                )
            )
            _panel(axes, link, colours)
            if number == 0:
                axes.set_ylabel(link.label)
            else:
                axes.tick_params(labelleft=False)
        handles = [
            made.axes[0].plot([], [], colours[i].mark, color=colours[i].light, ms=4)[0]
            for i in shown
        ]
        made.legend(handles, labels, loc="lower center", ncols=columns, handletextpad=0.2)
        yield made


def _panel(axes: Axes, link: Link, colours: Sequence[Colour]) -> None:
    many = len(link.points) > MANY
    # Judges give round numbers: a little jitter lets points that coincide be seen.
    rng = np.random.default_rng(0)
    x = np.array([point[1] for point in link.points])
    y = np.array([point[2] for point in link.points])
    shift = rng.uniform(-0.012, 0.012, len(y))
    for index in sorted({point[0] for point in link.points}):
        own = np.array([point[0] == index for point in link.points])
        axes.plot(
            x[own],
            (y + shift)[own],
            colours[index].mark,
            color=colours[index].light,
            ms=2.5 if many else 4,
            alpha=0.4 if many else 0.75,
            mew=0 if colours[index].mark not in "+x1234" else 0.9,
            ls="none",
            rasterized=many,
        )
    if len(x) >= _LEAST:
        parts = np.array_split(np.argsort(x, kind="stable"), _PARTS)
        axes.plot(
            [float(x[part].mean()) for part in parts],
            [float(y[part].mean()) for part in parts],
            color=INK.light,
            lw=1.4,
            marker="o",
            ms=3,
        )
    axes.set(xlim=span(x, 0, 1), ylim=span(y + shift, -0.02, 1.02))
    axes.set_xlabel(f"{link.kind} IoU with the ROI")
    axes.set_title(_short(link.pooled), loc="left")
    bare(axes, grid="both")

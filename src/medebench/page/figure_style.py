"""How all figures look, and how one becomes SVG and PDF, the same bytes every time."""

from __future__ import annotations

import io
import math
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from medebench.page.palette import GRID, INK, MUTED, variables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches; a page of text is a little wider, and on the screen 8 points are readable.
WIDTH = 5.6
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "medebench",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "text.color": INK.light,
    "axes.edgecolor": MUTED.light,
    "axes.labelcolor": INK.light,
    "axes.titlecolor": INK.light,
    "xtick.color": MUTED.light,
    "ytick.color": MUTED.light,
    "xtick.labelcolor": INK.light,
    "ytick.labelcolor": INK.light,
    "grid.color": GRID.light,
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    # Names come from strangers: a dollar sign in one is no formula.
    "text.parse_math": False,
    "text.usetex": False,
    "hatch.linewidth": 0.5,
}


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """An empty figure in our style; nothing of matplotlib's global state is left changed."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)  # type: ignore[arg-type, unused-ignore]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a glyph that the font lacks is drawn as a box
            made = Figure(figsize=(width, height))
            FigureCanvasAgg(made)
            yield made


def save(made: Figure) -> tuple[str, bytes]:
    """SVG text and PDF bytes; no date, no version, no random identifiers."""
    svg, pdf = io.StringIO(), io.BytesIO()
    nothing = {"Date": None, "Creator": None}
    made.savefig(svg, format="svg", metadata={**nothing, "Format": None, "Type": None}, dpi=200)
    made.savefig(
        pdf,
        format="pdf",
        metadata={"CreationDate": None, "Creator": None, "Producer": None},
        dpi=200,
    )
    return svg.getvalue(), pdf.getvalue()


def standalone(svg: str) -> str:
    """The SVG as a file: light, and with the fonts of a paper."""
    return _fonts(svg, "Helvetica, Arial, 'Liberation Sans', sans-serif")


def inline(svg: str, name: str, label: str) -> str:
    """The SVG as part of the page: its colours follow the theme, its ids are its own."""
    body = svg[svg.index("<svg") :]
    body = _fonts(body, "var(--sans)")
    for variable, (light, _) in variables().items():
        body = re.sub(re.escape(light), f"var({variable})", body, flags=re.IGNORECASE)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(xlink:href="|url\()#', rf"\1#{name}-", body)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    head = f'<svg role="img" aria-label="{label}"'
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1).replace("<svg", head, 1)


def _fonts(svg: str, family: str) -> str:
    svg = re.sub(r"(font: [^;\"]*?px )[^;\"]+", rf"\g<1>{family}", svg)
    return re.sub(r"(font-family: )[^;\"]+", rf"\g<1>{family}", svg)


def plain(text: str, longest: int = 28) -> str:
    """A name as a label: one line, no control characters, the middle left out if too long."""
    text = "".join(c for c in " ".join(text.split()) if unicodedata.category(c)[0] != "C")
    if len(text) <= longest:
        return text
    # Names of one family differ at the end: `my-model-v1`, `my-model-v2`.
    end = longest // 2
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def legend_columns(labels: Sequence[str], width: float) -> int:
    """How many columns of a legend with these labels fit into `width` inches."""
    longest = max(map(len, labels), default=1)
    return max(1, min(len(labels), int(width * 72 / (4.5 * longest + 34))))


def span(
    values: Iterable[float], low: float = -math.inf, high: float = math.inf
) -> tuple[float, float]:
    """The ends of an axis that fits the points, in round numbers; at most those of the scale.

    >>> span([0.43, 0.79], 0, 1), span([0.12, 0.97], 0, 1), span([11.2, 14.1])
    ((0.4, 0.8), (0.1, 1.0), (11.0, 14.5))
    """
    given = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    first, last = min(given), max(given)
    width = max(last - first, 1e-9 + 0.1 * abs(last))
    step = 10.0 ** math.floor(math.log10(width))
    step *= 1.0 if width > 5 * step else 0.5 if width > 2 * step else 0.2
    ends = step * math.floor(first / step), step * math.ceil(last / step)
    edge = 0.02 * (ends[1] - ends[0])
    fitted = (max(ends[0], low - edge), min(ends[1], high + edge))
    return round(fitted[0], 6), round(fitted[1], 6)


def bare(axes: Axes, *, grid: str = "x") -> None:
    axes.grid(True, axis=grid)  # type: ignore[arg-type]
    if grid != "both":
        axes.spines["left" if grid == "x" else "bottom"].set_visible(False)

"""What a set of cases is made of: groups, sizes, regions of interest, texts, sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from medebench.page.figure_style import WIDTH, bare, figure, plain
from medebench.page.number import number
from medebench.page.palette import INK, MUTED, PAPER, run_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = AbstractContextManager["Figure"]
#: Bars of a figure; smaller groups are counted together.
MOST_BARS, MOST_NESTED = 40, 120
_BAR = run_colours(1, 0)[0].light
_ROW, _LETTER = 0.165, 0.058
#: With more points than this the SVG holds them as one picture.
_MANY = 1500


def longest_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


@contextmanager
def bars(counts: Mapping[str, int]) -> Iterator[Figure]:
    """A bar for each group, the largest first."""
    rows = longest_first(counts)
    if len(rows) > MOST_BARS:
        rest = rows[MOST_BARS - 1 :]
        rows = [*rows[: MOST_BARS - 1], (f"{len(rest)} more", sum(count for _, count in rest))]
    height = 0.2 * len(rows) + 0.15
    with figure(WIDTH, height) as made:
        labels = [plain(name, 44) for name, _ in rows]
        left = min(0.5, (0.1 + _LETTER * 1.06 * max(map(len, labels))) / WIDTH)
        axes = made.add_axes((left, 0.07 / height, 0.92 - left, 1 - 0.14 / height))
        _bars(axes, [(label, count) for label, (_, count) in zip(labels, rows, strict=True)])
        yield made


def _bars(axes: Axes, rows: Sequence[tuple[str, int | None]], most: int | None = None) -> None:
    """Rows from the top; one without a count is the heading of those below it."""
    most = most or max(count or 0 for _, count in rows)
    for place, (_, count) in enumerate(rows):
        if count is not None:
            axes.barh(place, count, height=0.68, color=_BAR)
            axes.annotate(
                f"{count:,}",
                (count, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center_baseline",
                fontsize=7,
            )
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, most))
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


@contextmanager
def nested(counts: Mapping[str, Mapping[str, int]]) -> Iterator[Figure]:
    """Groups within groups ("task" within "organ"), the largest first, in columns."""
    blocks = _blocks(counts)
    lines = sum(map(len, blocks))
    columns = 1 if lines <= 26 else 2
    parts = _columns(blocks, columns)
    width = WIDTH if columns == 1 else 7.6
    tallest = max(map(len, parts))
    height = _ROW * tallest + 0.12
    most = max(count or 0 for rows in parts for _, count in rows)
    # Headings are bold.
    longest = max(len(label) * (1 if n else 1.15) for rows in parts for label, n in rows)
    left = min(0.74 * width / columns, 0.1 + _LETTER * longest) / width
    with figure(width, height) as made:
        for column, rows in enumerate(parts):
            share = len(rows) / tallest * (1 - 0.12 / height)
            box = (column / columns + left, 1 - 0.06 / height - share, 0.93 / columns - left, share)
            axes = made.add_axes(box)
            _bars(axes, rows, most)
            for (_, count), tick in zip(rows, axes.get_yticklabels(), strict=True):
                tick.set_fontsize(7)
                if count is None:
                    tick.set_fontweight("bold")
        yield made


def _blocks(counts: Mapping[str, Mapping[str, int]]) -> list[list[tuple[str, int | None]]]:
    pairs = [(n, outer, inner) for outer, one in counts.items() for inner, n in one.items()]
    kept = {pair[1:] for pair in sorted(pairs, key=lambda pair: -pair[0])[:MOST_NESTED]}
    found = []
    for outer, _ in longest_first({outer: sum(one.values()) for outer, one in counts.items()}):
        inner = longest_first(counts[outer])
        rows: list[tuple[str, int | None]] = [(plain(outer, 48), None)]
        rows += [(plain(name, 48), n) for name, n in inner if (outer, name) in kept]
        if rest := [n for name, n in inner if (outer, name) not in kept]:
            rows.append((f"{len(rest)} more", sum(rest)))
        found.append(rows)
    return found


def _columns(
    blocks: list[list[tuple[str, int | None]]], columns: int
) -> list[list[tuple[str, int | None]]]:
    """Whole blocks, one column after the other, as even as the order allows."""
    share = sum(map(len, blocks)) / columns
    found: list[list[tuple[str, int | None]]] = [[]]
    for block in blocks:
        if found[-1] and len(found) < columns and len(found[-1]) + len(block) / 2 > share:
            found.append([])
        found[-1] += block
    return found


@contextmanager
def histogram(
    values: Sequence[float], ends: tuple[float, float], label: str, text: Callable[[float], str]
) -> Iterator[Figure]:
    """How often each value is, with the median."""
    from matplotlib.ticker import MaxNLocator

    with figure(WIDTH, 2.2) as made:
        axes = made.add_axes((0.09, 0.2, 0.89, 0.68))
        axes.hist(values, bins=20, range=ends, color=_BAR, rwidth=0.92)
        middle = float(np.median(values))
        axes.axvline(middle, color=INK.light, lw=1.0, ls=(0, (3, 2)))
        axes.annotate(
            f"median {text(middle)}",
            (middle, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
        axes.set(xlabel=label, ylabel="cases", xlim=ends)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        bare(axes, grid="y")
        yield made


@contextmanager
def sizes(counts: Mapping[tuple[int, int], int]) -> Iterator[Figure]:
    """Width against height; the more cases, the larger the point."""
    with figure(WIDTH, 3.2) as made:
        axes = made.add_axes((0.11, 0.14, 0.87, 0.83))
        rows = sorted(counts.items(), key=lambda pair: -pair[1])
        widths, heights = (np.array([size[n] for size, _ in rows]) for n in (0, 1))
        area = 10 * np.sqrt([count for _, count in rows])
        axes.scatter(widths, heights, s=area, color=_BAR, alpha=0.5, linewidths=0)
        top = 1.06 * max(widths.max(), heights.max())
        axes.plot([0, top], [0, top], color=MUTED.light, lw=0.8, zorder=0)
        axes.set(xlim=(0, 1.06 * widths.max()), ylim=(0, 1.06 * heights.max()))
        axes.set(xlabel="width, pixels", ylabel="height, pixels")
        bare(axes, grid="both")
        yield made


@contextmanager
def lengths(words: Mapping[str, Sequence[int]]) -> Iterator[Figure]:
    """A row for each text of a case, a point for each case."""
    height = 0.42 * len(words) + 0.5
    with figure(WIDTH, height) as made:
        left = (0.12 + 1.06 * _LETTER * max(map(len, words))) / WIDTH
        axes = made.add_axes((left, 0.42 / height, 0.98 - left, 1 - 0.47 / height))
        rng = np.random.default_rng(0)
        for place, found in enumerate(words.values()):
            values = np.asarray(found, float)
            axes.scatter(
                values + rng.uniform(-0.3, 0.3, len(values)),
                place + rng.uniform(-0.28, 0.28, len(values)),
                s=4,
                color=_BAR,
                alpha=0.35,
                linewidths=0,
                rasterized=len(values) > _MANY,
            )
            low, first, middle, third, high = np.percentile(values, [5, 25, 50, 75, 95])
            axes.plot([low, high], [place, place], color=INK.light, lw=1.0)
            axes.plot([first, third], [place, place], color=INK.light, lw=3.4)
            axes.plot(middle, place, "o", ms=4.4, mfc=PAPER.light, mec=INK.light, mew=1.0, zorder=3)
        axes.set_yticks(range(len(words)), list(words))
        axes.set_ylim(len(words) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("words")
        bare(axes)
        yield made


def share_text(value: float) -> str:
    return f"{number(100 * value, 1)} %"

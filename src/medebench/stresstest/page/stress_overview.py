"""`write_overview`: several stress tests on one small page, which is a single file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from medebench.errors import InputError
from medebench.files import unwritable, write_text
from medebench.page.document import static
from medebench.page.figure import Drawing
from medebench.page.palette import Colour
from medebench.stresstest.page.figures import colours_of, draw_outcome
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.page_files import PACKAGE, render
from medebench.stresstest.page.stress_formats import MEASURES, Measure
from medebench.stresstest.stress_outcome import StressOutcome

_OURS = '<meta name="generator" content="medebench'


@dataclass(frozen=True)
class _Test:
    outcome: StressOutcome
    link: str
    lead: Measure
    colours: dict[str, Colour]
    drawing: Drawing | None


def write_overview(
    outcomes: Iterable[tuple[StressOutcome, str]],
    out: str | Path,
    *,
    title: str = "Stress tests",
) -> Path:
    """Verdicts and headline numbers of each outcome, linked to the page at its relative path.

    `out` is the HTML file to write, or a folder for its `index.html`; an existing file is
    replaced only if it is a page of medebench.
    """
    path = Path(out).expanduser().absolute()
    path = path if path.suffix == ".html" else path / "index.html"
    given = list(outcomes)
    if not given:
        raise InputError("an overview needs at least one stress test")
    _refuse_others(path)
    tests = [_test(place, *one) for place, one in enumerate(given, 1)]
    html = render(
        "overview.html",
        title=title,
        tests=tests,
        skip=("top", "verdict"),
        headline="",
        style="\n".join(static(PACKAGE, name) for name in ("page.css", "stress.css")),
        script="\n".join(static(PACKAGE, name) for name in ("dom.js", "theme.js")),
    )
    try:
        write_text(path, html)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def _refuse_others(path: Path) -> None:
    try:
        if path.exists() and _OURS not in path.read_text(encoding="utf-8", errors="replace"):
            raise InputError(f"{path}: is not a page of medebench; choose another file")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _test(place: int, outcome: StressOutcome, link: str) -> _Test:
    if urlsplit(link).scheme or link.startswith("/"):
        raise InputError(f"'{link}': the link to a stress test must be a relative path")
    # Identifiers within a figure repeat from one stress test to the next.
    drawing = draw_outcome(outcome, PageContext(), only=("headline",)).get("headline")
    if drawing is not None:
        inline = drawing.inline
        for mark in ('id="', 'href="#', "url(#"):
            inline = inline.replace(f"{mark}headline-", f"{mark}headline-{place}-")
        drawing = replace(drawing, inline=inline)
    colours = colours_of(outcome)
    return _Test(outcome, quote(link), MEASURES[outcome.headline], colours, drawing)

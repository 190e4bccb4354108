"""One colour and one mark for each run, the same in every table, figure and picture.

Models take the colours of Okabe and Ito (told apart with every kind of colour vision) and then
some of Tol's; controls are grey. Each has a lighter twin for dark pages.
"""

from __future__ import annotations

from dataclasses import dataclass

_MODELS = (
    ("#0072b2", "#5cb1e8"),
    ("#d55e00", "#ff8f47"),
    ("#009e73", "#35cba1"),
    ("#cc79a7", "#e79fc6"),
    ("#d18f00", "#f2b93f"),
    ("#56b4e9", "#9ad6f8"),
    ("#6a3d9a", "#b592e3"),
    ("#8c564b", "#cf9a8d"),
    ("#7a8b00", "#bccb45"),
    ("#b2182b", "#f37b88"),
    ("#01665e", "#63c4b9"),
    ("#332288", "#8f88e0"),
)
_CONTROLS = (
    ("#59636e", "#b3bcc5"),
    ("#8a949e", "#8e98a3"),
    ("#737d74", "#a3ada3"),
    ("#7d7568", "#b1a899"),
    ("#a5a2ad", "#7f8792"),
    ("#4f5a55", "#c6cdc9"),
)
#: Types of failure, from best to worst. The same on dark pages, under dark text; told apart with
#: every kind of colour vision, and close to no colour of a run.
TYPES = {
    "success": "#2fb58c",
    "nothing": "#b4bcc4",
    "weak": "#74bfe8",
    "wrong_place": "#efb73e",
    "repainted": "#e2733a",
    "damaged": "#bd82b4",
}
TYPE_INK = "#14171a"
#: Overlays: the ROI, the region that is compared with it, and what they share.
ROI, REGION, SHARED = "#ff4438", "#00d08f", "#ffe14d"
_MODEL_MARKS = "osD^vPX<>ph8"
_CONTROL_MARKS = "+x1234"


@dataclass(frozen=True)
class Colour:
    #: The name of the CSS variable.
    variable: str
    light: str
    dark: str
    mark: str


INK = Colour("--ink", "#1c2126", "#e8eaed", "")
MUTED = Colour("--muted", "#5d6771", "#a2abb5", "")
GRID = Colour("--grid", "#e1e5e9", "#353b42", "")
PAPER = Colour("--paper", "#fefefe", "#15181c", "")


def run_colours(models: int, controls: int) -> list[Colour]:
    """Colours of the runs in the order of the report: models, then controls."""
    found = []
    for count, colours, marks, kind in (
        (models, _MODELS, _MODEL_MARKS, "model"),
        (controls, _CONTROLS, _CONTROL_MARKS, "control"),
    ):
        for i in range(count):
            light, dark = colours[i % len(colours)]
            # A second round of colours gets other marks, so that the two still differ.
            mark = marks[(i + i // len(colours)) % len(marks)]
            found.append(Colour(f"--{kind}-{i % len(colours)}", light, dark, mark))
    return found


def variables() -> dict[str, tuple[str, str]]:
    """CSS variable -> (light, dark), for the style sheet and for figures that follow the theme."""
    base = {c.variable: (c.light, c.dark) for c in (INK, MUTED, GRID, PAPER)}
    base |= {f"--type-{kind}": (colour, colour) for kind, colour in TYPES.items()}
    for kind, colours in (("model", _MODELS), ("control", _CONTROLS)):
        base |= {f"--{kind}-{i}": pair for i, pair in enumerate(colours)}
    return base

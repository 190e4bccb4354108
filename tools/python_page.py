"""Write the reference in docs/python.md from the docstrings of the public names.

    python tools/python_page.py

What stands above the mark is written by hand; a test compares the rest with the code.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import medebench

PAGE = Path(__file__).parent.parent / "docs" / "python.md"
MARK = "<!-- Below this line: made by tools/python_page.py from the docstrings. -->"
#: By heading, functions in the order in which they are needed; the rest of them follows.
SECTIONS = {
    "From cases to a report": (
        *("load_cases", "open_case", "check_cases", "describe_cases", "generate", "edit", "adopt"),
        *("score", "ground", "report", "case_figure", "compare", "save_baseline", "export"),
        *("open_run", "load_plan", "run_plan"),
    ),
    "Metrics on arrays": (
        *("cp", "cp_published", "ssim", "psnr", "mean_change", "edit_completion"),
        *("edit_residual", "metric"),
    ),
    "People and predictors": ("new_study", "open_study", "study_results", "stress"),
}


def reference() -> str:
    public = {name: getattr(medebench, name) for name in medebench.__all__ if name[0] != "_"}
    functions = {name: one for name, one in public.items() if inspect.isfunction(one)}
    named = [name for names in SECTIONS.values() for name in names]
    sections = SECTIONS | {"Lists": tuple(name for name in functions if name not in named)}
    text = []
    for heading, names in sections.items():
        text.append(f"## {heading}\n")
        text += [_function(name, functions[name]) for name in names if name in functions]
    text.append("## Types\n\n| name | what it is |\n|---|---|")
    types = {name: one for name, one in public.items() if name not in functions}
    text += [f"| `{name}` | {_first_line(one)} |" for name, one in types.items()]
    return "\n".join(text) + "\n"


def _function(name: str, function: Any) -> str:
    parts = _parts(inspect.getdoc(function) or "")
    given = ", ".join(_parameters(function))
    lines = [f"### `mb.{name}({given})`\n", parts[""] + "\n"]
    if "Args" in parts:
        lines += [_arguments(parts["Args"]) + "\n"]
    if "Returns" in parts:
        lines += [f"Returns: {' '.join(parts['Returns'].split())}\n"]
    if "example" in parts:
        lines += [f"```pycon\n{parts['example']}\n```\n"]
    return "\n".join(lines)


def _parameters(function: Any) -> list[str]:
    """`out`, `*`, `seed=0`: names and defaults; types are with the arguments."""
    found = []
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        default = one.default
        if default is one.empty:
            found.append({one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name)
        else:
            shown = default.__name__ if callable(default) else repr(default)
            found.append(f"{one.name}={shown}")
    return found


def _parts(text: str) -> dict[str, str]:
    """A docstring as its words (under no name), Args, Returns and example."""
    text, _, example = text.partition("\n>>> ")
    found = {"example": ">>> " + example} if example else {}
    pieces = re.split(r"^(Args|Returns):\n", text, flags=re.MULTILINE)
    found[""] = pieces[0].strip()
    return found | dict(zip(pieces[1::2], (one.rstrip() for one in pieces[2::2]), strict=True))


def _arguments(text: str) -> str:
    lines = re.split(r"\n(?=    \w+: )", text)
    pairs = [" ".join(line.split()).partition(": ") for line in lines]
    return "\n".join(f"- `{name}`: {what}" for name, _, what in pairs)


def _first_line(one: Any) -> str:
    if not isinstance(one, type):
        return "Type of a callback, for annotations."
    return (inspect.getdoc(one) or "").split("\n")[0]


def main() -> None:
    by_hand, _, _ = PAGE.read_text("utf-8").partition(MARK)
    PAGE.write_text(f"{by_hand}{MARK}\n\n{reference()}", "utf-8")


if __name__ == "__main__":
    main()

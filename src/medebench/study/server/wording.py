"""What annotators are asked, dimension by dimension."""

from __future__ import annotations

from collections.abc import Iterable

_WORDS = {
    "ea": (
        "Editing accuracy",
        "Which output carries out the instruction best?",
        "Look at what was asked for: is it done, at the right place, as far as it should go? "
        "Leave aside how pretty the picture is and what else has changed.",
    ),
    "cp": (
        "Contextual preservation",
        "Which output keeps everything else as it was?",
        "Compare with the previous image outside the place of the edit: anatomy, position, "
        "colours, texture, writing. An output that changed nothing at all keeps everything.",
    ),
    "vq": (
        "Visual quality",
        "Which output looks most like a real image of this kind?",
        "Look for smears, seams, repeated patterns, noise and anatomy that cannot be. "
        "Leave aside whether the instruction was carried out.",
    ),
}


def dimensions(keys: Iterable[str]) -> list[dict[str, str]]:
    return [
        {"key": key, "name": name, "question": question, "hint": hint}
        for key in keys
        for name, question, hint in [_WORDS[key]]
    ]

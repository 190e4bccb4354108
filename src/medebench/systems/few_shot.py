"""What a model is told when it is shown how others were edited: the same words for every editor.

The pictures go in this order: before and after of each demonstration, then the one to edit.
"""

from __future__ import annotations

from typing import Any

from medebench.systems.request import Request

#: Goes up with every change of the words: other words are another experiment.
VERSION = 1


def shown_text(request: Request) -> str:
    """The bare instruction, or one behind a line for each demonstration; it always comes last."""
    if not request.demonstrations:
        return request.instruction
    lines = [
        f"Picture {2 * number - 1} was edited into picture {2 * number}. "
        f"The order was: {shown.case.prompt}"
        for number, shown in enumerate(request.demonstrations, start=1)
    ]
    last = 2 * len(lines) + 1
    lines.append(
        f"Now edit picture {last} in the same manner and change nothing else in it. "
        f"The order is: {request.instruction}"
    )
    return "\n".join(lines)


def shown_facts(request: Request) -> dict[str, Any]:
    """What the ledger keeps of it: which cases, in which order, and in which words."""
    if not request.demonstrations:
        return {}
    cases = [shown.case.id for shown in request.demonstrations]
    return {"demonstrations": cases, "shown_text": VERSION}

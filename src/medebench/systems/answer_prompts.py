"""What a model is told when it is to answer: the same words for every model, however it is reached.

They are in `answer_prompts.json`. Other words are another experiment: raise `version` when one
changes. The ledger keeps name, version and hash beside each answer, and the text as it was sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from medebench.cases.choice_options import Option, read_options
from medebench.models.prompt_text import put
from medebench.systems.request import Request
from medebench.tasks.medgen_tasks import answer_kind


@dataclass(frozen=True)
class AnswerPrompts:
    """The words, and the name and version under which they are cited."""

    name: str
    version: int
    system: str
    option_list: str
    image_label: str
    sheet_label: str
    #: How to answer, by kind: letter, gap, free, report; both: a picture with a text.
    endings: dict[str, str]

    @cached_property
    def label(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return f"{self.name} v{self.version} ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _joined(value: Any) -> Any:
    """A long text is a list of its lines."""
    return " ".join(value) if isinstance(value, list) else value


def _read() -> AnswerPrompts:
    read = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    endings = {kind: _joined(text) for kind, text in read.pop("endings").items()}
    return AnswerPrompts(**{name: _joined(one) for name, one in read.items()}, endings=endings)


ANSWER = _read()


def answer_kind_of(request: Request) -> str:
    """Which of the endings the request gets."""
    return "both" if "image" in request.gives else answer_kind(request.case.case)


def question_text(request: Request) -> str:
    """The instruction, its options unless it lists them itself, and how to answer."""
    lines = [request.instruction.strip()]
    options = request.case.case.choices
    if options and not _lists(request.instruction, options):
        listed = "\n".join(one.line for one in read_options(options))
        lines.append(put(ANSWER.option_list, options=listed))
    return "\n\n".join([*lines, ANSWER.endings[answer_kind_of(request)]])


def question_facts(request: Request, sent: str) -> dict[str, Any]:
    """What the ledger keeps of a question."""
    return {"asked": sent, "prompt": f"{ANSWER.label} {answer_kind_of(request)}"}


def _lists(instruction: str, options: Sequence[str]) -> bool:
    """Whether it says itself which letter stands for which option."""
    said = _squeezed(instruction)
    return all(_listed(one).search(said) for one in read_options(options))


def _listed(option: Option) -> re.Pattern[str]:
    letter, text = option.letter.lower(), re.escape(_squeezed(option.text))
    return re.compile(rf"(?<!\w){letter}\s*[.):\]]\s*{text}")


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())

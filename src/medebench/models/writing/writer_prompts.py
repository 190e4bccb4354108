"""What models are told when they write for the data builder.

The words are in `writer_prompts.json`, where {data}, {n} and {problems} stand for what differs.
Changing one changes what is written: raise `version` when you do. `FIELDS` and the numbers of words
are in them as well.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FIELDS = ("modality", "action", "target", "expected_result", "sentence")
FEWEST_WORDS, MOST_WORDS = 8, 60


@dataclass(frozen=True)
class Instruction:
    """The words of one kind of question, and the name and version under which they are cited."""

    name: str
    version: int
    system: str
    task: str
    complaint: str
    schema: dict[str, Any]
    before: str = ""
    after: str = ""

    @cached_property
    def hash(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def label(self) -> str:
        return f"{self.name} v{self.version} ({self.hash[:8]})"

    def complain(self, problems: tuple[str, ...]) -> str:
        return self.complaint.replace("{problems}", "\n".join(f"- {one}" for one in problems))


def _read(name: str) -> Instruction:
    """The words in `writer_prompts.json`, where a long text is a list of its lines."""
    read = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))[name]
    texts = {key: "\n".join(value) for key, value in read.items() if isinstance(value, list)}
    return Instruction(**read | texts)


DESCRIPTION = _read("change-description")
PARAPHRASES = _read("prompt-paraphrases")

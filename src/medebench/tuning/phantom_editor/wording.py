"""What people may say: every phrasing of a phantom's instruction."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.cases.phantoms import sample
from medebench.cases.phantoms.registry import BY_NAME


@dataclass(frozen=True)
class Wording:
    """How one phantom's instruction may be put."""

    organ: str
    task: str
    concept: str
    texts: tuple[str, ...]


def wordings(count: int, seed: int) -> list[Wording]:
    return [_wording(index, seed) for index in range(count)]


def _wording(index: int, seed: int) -> Wording:
    spec = sample(index, seed)
    texts = BY_NAME[spec.organ, spec.task].texts
    words = dict(texts.words(spec.params))
    key = words.setdefault("key", texts.key)
    said = [text.format(**words) for text in (*texts.prompts, *texts.rephrased)]
    return Wording(spec.organ, spec.task, key, tuple(dict.fromkeys(said)))

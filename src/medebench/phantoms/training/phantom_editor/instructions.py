"""Every phrasing of a phantom's instruction."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.phantoms.drawings import sample
from medebench.phantoms.drawings.catalogue import BY_NAME


@dataclass(frozen=True)
class Wording:
    """The phrasings of one phantom's instruction."""

    organ: str
    task: str
    concept: str
    texts: tuple[str, ...]


def wordings(count: int, seed: int) -> list[Wording]:
    return [_wording(index, seed) for index in range(count)]


def _wording(index: int, seed: int) -> Wording:
    spec = sample(index, seed)
    texts = BY_NAME[spec.organ, spec.task].texts(spec.params)
    said = dict.fromkeys([*texts["prompts"], *texts["rephrased_prompts"]])
    return Wording(spec.organ, spec.task, texts["key_concept"], tuple(said))

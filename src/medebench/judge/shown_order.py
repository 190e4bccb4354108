"""Neutral labels in a shuffled order, and back: "Exhibit 2" in an answer is named by its role.

A judge that favours what comes first, or last, must not favour one role by it. Numbered images
would be confused with those that a question about several images speaks of.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

_TEXTS = ("output_text", "reference_text")
#: They belong to the question and stand before everything that is compared.
_QUESTION = ("choices", "prompt", "description")
_LABEL = re.compile(r"\bexhibit[ _#]*(\d{1,2})\b(?! \[)", re.I)
_WORDS = {
    "previous": "input",
    "output": "output image",
    "reference": "reference image",
    "output_text": "output text",
    "reference_text": "reference text",
}


def shuffled(roles: Sequence[str], inputs: Sequence[str], seed: str) -> tuple[str, ...]:
    """What belongs to the question, then images, then texts, both in an order of the seed.

    Several inputs stay together in their own order.
    """
    question = [role for role in roles if role in _QUESTION]
    texts = [(role,) for role in roles if role in _TEXTS]
    others = {*question, *inputs, *_TEXTS}
    images: list[tuple[str, ...]] = [(role,) for role in roles if role not in others]
    if inputs:
        images.append(tuple(inputs))

    def drawn(block: tuple[str, ...]) -> bytes:
        return hashlib.sha256(f"{seed} {block[0]}".encode()).digest()

    blocks = [*sorted(images, key=drawn), *sorted(texts, key=drawn)]
    return (*question, *(role for block in blocks for role in block))


def neutral_labels(roles: Sequence[str]) -> dict[str, str]:
    """By role, the label of its place.

    >>> neutral_labels(["choices", "reference", "output"])
    {'reference': 'Exhibit 1', 'output': 'Exhibit 2'}
    """
    compared = [role for role in roles if role not in _QUESTION]
    return {role: f"Exhibit {number}" for number, role in enumerate(compared, 1)}


def by_role(text: str, labelled: Mapping[str, str]) -> str:
    """What a judge wrote, with the role beside each label.

    >>> by_role("Exhibit 2 is sharper.", {"previous": "Exhibit 1", "output": "Exhibit 2"})
    'Exhibit 2 [output image] is sharper.'
    """
    roles = {label: role for role, label in labelled.items()}

    def named(found: re.Match[str]) -> str:
        role = roles.get(f"Exhibit {found[1]}")
        return found[0] if role is None else f"{found[0]} [{_WORDS.get(role, role)}]"

    return _LABEL.sub(named, text)

"""Where in the encoded prompt a concept ends: the token whose attention is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from medebench.errors import one_line
from medebench.grounding.concept import find_concept
from medebench.metrics.metric import Undefined

#: What FLUX pipelines give their T5 tokenizer when the caller says nothing.
FLUX_LENGTH = 512


@dataclass(frozen=True, slots=True)
class Token:
    """A place in the text sequence that the denoiser attends to.

    Counted from the end of the prompt's own tokens where `index` is negative.
    """

    index: int
    text: str = ""
    concept: str = ""


def token_index(
    tokenizer: Any, prompt: str, concept: str, *, max_length: int | None = None, suffix: str = ""
) -> int:
    """Index of the concept's last sub-token in `tokenizer(prompt)`, special tokens counted.

    `max_length` is where the pipeline cuts the sequence (the tokenizer's own length unless given).
    With `suffix`, the text that a chat template puts behind the prompt, the index counts from the
    end (-1 is the suffix's last token): what stands before the prompt then does not matter.
    """
    return _find(tokenizer, prompt, concept, max_length, suffix)[0]


def find_token(
    pipe: Any, prompt: str, concept: str, *, max_length: int | None = None, instruction: str = ""
) -> Token:
    """The concept's last sub-token as `pipe` will encode `prompt`.

    `instruction` says which part of a longer prompt to search (an editor's template may name things
    of its own). `Undefined` where the prompt does not say the concept or is cut before it.
    """
    tokenizer, length, suffix = _encoding(pipe)
    begin = max(prompt.rfind(instruction), 0) if instruction else 0
    found = _find(tokenizer, prompt, concept, max_length or length, suffix, begin)
    return Token(found[0], _readable(tokenizer, found[1]), concept)


def _encoding(pipe: Any) -> tuple[Any, int | None, str]:
    """The tokenizer whose tokens the denoiser attends to, its length, and a template's tail."""
    if template := getattr(pipe, "prompt_template_encode", ""):
        return pipe.tokenizer, None, template.partition("{}")[2]
    if getattr(pipe, "transformer", None) is not None:
        return getattr(pipe, "tokenizer_2", None) or pipe.tokenizer, FLUX_LENGTH, ""
    return pipe.tokenizer, pipe.tokenizer.model_max_length, ""


def _find(
    tokenizer: Any, prompt: str, concept: str, length: int | None, suffix: str, begin: int = 0
) -> tuple[int, int]:
    """Index and vocabulary id of the token."""
    span = find_concept(prompt[begin:], concept)
    if span is None:
        raise Undefined(f"the prompt '{one_line(prompt, 80)}' does not mention '{concept}'")
    last = begin + span[1] - 1
    if suffix:
        length = None
    elif length is None and tokenizer.model_max_length < 1_000_000:
        length = tokenizer.model_max_length
    ids, place = _encode(tokenizer, prompt + suffix, last, length)
    if place is None:
        raise Undefined(f"'{concept}' lies beyond the model's {length}-token limit")
    return (place - len(ids) if suffix else place), ids[place]


def _encode(
    tokenizer: Any, text: str, last: int, length: int | None
) -> tuple[Sequence[int], int | None]:
    """The token ids of `text`, and the place of the token that holds character `last`."""
    options = {"truncation": length is not None, "max_length": length}
    if getattr(tokenizer, "is_fast", False):
        encoded = tokenizer(text, return_offsets_mapping=True, **options)
        spans = encoded["offset_mapping"]
        places = [p for p, (first, end) in enumerate(spans) if first <= last < end]
        return encoded["input_ids"], places[-1] if places else None
    # A slow tokenizer knows no offsets; a word's tokens do not depend on the words after it.
    ids = tokenizer(text, **options)["input_ids"]
    bare = tokenizer(text[: last + 1], add_special_tokens=False)["input_ids"]
    for before in range(len(ids) - len(bare) + 1):
        if list(ids[before : before + len(bare)]) == list(bare):
            return ids, before + len(bare) - 1
    return ids, None


def _readable(tokenizer: Any, token: int) -> str:
    return str(tokenizer.decode([token])).replace("</w>", "").strip()

"""What people may say: every phrasing of a phantom's instruction, and a tokenizer for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from medebench.cases.phantoms import sample
from medebench.cases.phantoms.registry import BY_NAME
from medebench.tuning.phantom_editor.recipe import Recipe

if TYPE_CHECKING:
    from transformers import CLIPTokenizer


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


def make_tokenizer(texts: list[str], recipe: Recipe) -> CLIPTokenizer:
    """A tokenizer of CLIP's kind, its merges learned from `texts`; unknown words become bytes."""
    from tokenizers import Tokenizer, models, trainers
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import CLIPTokenizer

    start, end = "<|startoftext|>", "<|endoftext|>"
    alphabet = sorted(ByteLevel.alphabet())
    blank = CLIPTokenizer(
        vocab={start: 0, end: 1},
        merges=[],
        model_max_length=recipe.tokens,
    )
    learner = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    learner.normalizer = blank.backend_tokenizer.normalizer
    learner.pre_tokenizer = blank.backend_tokenizer.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary - 2 * len(alphabet) - 2,
        initial_alphabet=alphabet,
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    import json

    learned = json.loads(learner.to_str())["model"]
    pieces = [*alphabet, *(f"{letter}</w>" for letter in alphabet)]
    known = dict.fromkeys([*pieces, *learned["vocab"]])
    vocabulary = {piece: number for number, piece in enumerate([*known, start, end])}
    merges = [tuple(pair) if isinstance(pair, list) else pair for pair in learned["merges"]]
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=recipe.tokens)

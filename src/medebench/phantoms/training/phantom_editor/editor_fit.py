"""Learning to edit: U-Net and text encoder together, from nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medebench.grounding.concept import concept_of
from medebench.grounding.concept_tokens import token_index
from medebench.metrics.metric import Undefined
from medebench.phantoms.drawings import sample
from medebench.phantoms.drawings.phantom_renderer import BY_NAME
from medebench.phantoms.training.loop import Losses, train
from medebench.phantoms.training.model_recipes import EditorRecipe
from medebench.phantoms.training.pipeline_folder import PipelineParts
from medebench.progress import Progress, silent

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import CLIPTokenizer

#: Learning rate of the layers that begin as a copy, as a share of the others'.
CARRIER_RATE = 0.1


@dataclass(frozen=True)
class Wording:
    """The phrasings of one phantom's instruction."""

    organ: str
    task: str
    concept: str
    texts: tuple[str, ...]


def wordings(count: int, seed: int) -> list[Wording]:
    found = []
    for spec in (sample(index, seed) for index in range(count)):
        texts = BY_NAME[spec.organ, spec.task].texts(spec.params)
        said = dict.fromkeys([*texts["prompts"], *texts["rephrased_prompts"]])
        found.append(Wording(spec.organ, spec.task, texts["key_concept"], tuple(said)))
    return found


@dataclass(frozen=True)
class TrainPairs:
    """Latents (n, channels, h, w) of before and after, the ROI's share of each cell, the words."""

    previous: NDArray[np.float16]
    reference: NDArray[np.float16]
    roi: NDArray[np.float32]
    words: list[Wording]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class _Example:
    index: int
    text: str
    edit: bool
    already: bool
    blind: bool


def learn(
    pairs: TrainPairs,
    parts: PipelineParts,
    scaling: float,
    recipe: EditorRecipe,
    folder: Path,
    progress: Progress = silent,
) -> list[dict[str, float]]:
    """Train in place, continuing what is in `folder`; returns the loss curve."""
    import torch
    import torch.nn.functional as functional

    networks = torch.nn.ModuleList([parts.unet, parts.text_encoder])
    optimizer = torch.optim.AdamW(_groups(networks), lr=recipe.rate, weight_decay=1e-2)
    tokens = _tokens(pairs, parts.tokenizer)
    sampler = _ExampleSampler(pairs, recipe)
    places = concept_places(pairs.words, parts.tokenizer)

    def losses(step: int) -> Losses:
        rng = np.random.default_rng((recipe.seed, step))
        torch.manual_seed(recipe.seed * 100_003 + step)
        batch = sampler.batch(rng)
        previous, target, weight = sampler.tensors(batch)
        target = target * scaling
        ids = torch.stack([tokens[one.text] for one in batch])
        # More often at high noise: there the edit is decided.
        times = torch.from_numpy((999 * (1 - rng.random(len(batch)) ** 2)).astype(np.int64))
        noise = torch.randn_like(target)
        noisy = parts.scheduler.add_noise(target, noise, times)
        hidden = parts.text_encoder(ids)[0]
        with Gaze(parts.unet) as gaze:
            guess = parts.unet(torch.cat([noisy, previous], 1), times, hidden).sample
        error = (guess - target).square().mean(1)
        loss = (error * weight).sum() / weight.sum()
        if step >= recipe.gaze_from:
            seen, covered = sampler.gaze(batch, places)
            loss = loss + recipe.gaze * gaze.loss(seen, covered)
        with torch.no_grad():
            outside = functional.relu(2 - weight)
            told = {
                name: (error * part).sum() / part.sum().clamp(min=1)
                for name, part in (("outside", outside), ("inside", 1 - outside))
            }
        return {"loss": loss, **told}

    return train(networks, optimizer, losses, recipe, folder, progress)


class _ExampleSampler:
    """Chooses what is shown: the right instruction, a wrong one, or one already carried out."""

    def __init__(self, pairs: TrainPairs, recipe: EditorRecipe) -> None:
        self._pairs, self._recipe = pairs, recipe
        self._by_organ: dict[str, list[int]] = {}
        for index, words in enumerate(pairs.words):
            self._by_organ.setdefault(words.organ, []).append(index)

    def batch(self, rng: np.random.Generator) -> list[_Example]:
        return [self._example(rng) for _ in range(self._recipe.batch)]

    def _example(self, rng: np.random.Generator) -> _Example:
        recipe, words = self._recipe, self._pairs.words
        index = int(rng.integers(len(words)))
        kind, withheld = rng.random(2)
        blind = withheld < recipe.no_picture
        if kind < recipe.wrong and not blind:
            return _Example(index, self._wrong(rng, index), False, False, False)
        already = recipe.wrong <= kind < recipe.wrong + recipe.finished and not blind
        silent_ = recipe.no_picture * 0.5 < withheld < recipe.no_picture + recipe.no_text
        text = "" if silent_ else str(rng.choice(words[index].texts))
        return _Example(index, text, True, already, blind)

    def _wrong(self, rng: np.random.Generator, index: int) -> str:
        """An instruction for another thing, as often as not in the same organ."""
        own = self._pairs.words[index]
        near = self._by_organ[own.organ] if rng.random() < 0.5 else range(len(self._pairs))
        for _ in range(20):
            other = self._pairs.words[int(rng.choice(near))]
            if (other.organ, other.task) != (own.organ, own.task) and other.concept != own.concept:
                return str(rng.choice(other.texts))
        return str(rng.choice(self._pairs.words[(index + 1) % len(self._pairs)].texts))

    def gaze(
        self, batch: list[_Example], places: dict[tuple[str, str], int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The token to look for, -1 where there is nothing to find, and where it is to be found."""
        import torch

        words = self._pairs.words
        found = [
            places.get((one.text, words[one.index].concept), -1)
            if one.edit and not one.already and not one.blind
            else -1
            for one in batch
        ]
        roi = self._pairs.roi[[one.index for one in batch]]
        return torch.tensor(found), torch.from_numpy(roi)

    def tensors(self, batch: list[_Example]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        import torch

        pairs = self._pairs
        at = [one.index for one in batch]
        before, after = pairs.previous[at], pairs.reference[at]
        shown = [after[i] if one.already else before[i] for i, one in enumerate(batch)]
        wanted = [after[i] if one.edit else before[i] for i, one in enumerate(batch)]
        roi = pairs.roi[at]
        cells = roi[0].size
        covered = roi.sum(axis=(1, 2), keepdims=True)
        gain = np.minimum(self._recipe.inside, 0.5 * cells / np.maximum(covered, 1e-6))
        seen = np.stack(shown).astype(np.float32)
        seen[[i for i, one in enumerate(batch) if one.blind]] = 0
        target, weight = (one.astype(np.float32) for one in (np.stack(wanted), 1 + gain * roi))
        return torch.from_numpy(seen), torch.from_numpy(target), torch.from_numpy(weight)


def _tokens(pairs: TrainPairs, tokenizer: CLIPTokenizer) -> dict[str, torch.Tensor]:
    texts = sorted({text for words in pairs.words for text in words.texts} | {""})
    read = tokenizer(texts, padding="max_length", truncation=True, return_tensors="pt")
    return dict(zip(texts, read.input_ids, strict=True))


def _groups(networks: torch.nn.Module) -> list[dict[str, Any]]:
    """The layers that carry the copy learn slowly, so that learning to edit does not spoil it."""
    carriers = ("conv_in", "conv_out", "conv_norm_out", "up_blocks.1.resnets.1.conv_shortcut")
    parts: dict[bool, list[Any]] = {True: [], False: []}
    for name, value in networks.named_parameters():
        carries = name.startswith(tuple(f"0.{one}" for one in carriers))
        parts[carries].append(value)
    return [
        {"params": parts[False], "share": 1.0},
        {"params": parts[True], "share": CARRIER_RATE, "weight_decay": 0.0},
    ]


def concept_places(words: Sequence[Wording], tokenizer: Any) -> dict[tuple[str, str], int]:
    """Where each text, for each concept, has the token that is looked at; by the editor's rule."""
    places: dict[tuple[str, str], int] = {}
    for one in words:
        for text in one.texts:
            if (text, one.concept) in places:
                continue
            try:
                concept = concept_of(text, one.concept)
                places[text, one.concept] = token_index(tokenizer, text, concept.text)
            except Undefined:
                places[text, one.concept] = -1
    return places


class Gaze:
    """Catches queries and keys of the cross-attention while its `with` block lasts."""

    def __init__(self, unet: Any) -> None:
        self._layers = {
            name: layer for name, layer in unet.named_modules() if name.endswith("attn2")
        }
        self._caught: dict[tuple[str, str], Tensor] = {}
        self._hooks = ExitStack()

    def __enter__(self) -> Gaze:
        for name, layer in self._layers.items():
            for part in ("to_q", "to_k"):
                hook = getattr(layer, part).register_forward_hook(self._catch(name, part))
                self._hooks.callback(hook.remove)
        return self

    def __exit__(self, *_: object) -> None:
        self._hooks.close()

    def _catch(self, name: str, part: str) -> Any:
        def keep(module: Any, inputs: Any, output: Tensor) -> None:
            self._caught[name, part] = output

        return keep

    def loss(self, places: Tensor, roi: Tensor) -> Tensor:
        """Mean over layers of -log(share of the attention to the token that lies in the ROI).

        `places` has the token of each picture, -1 where there is nothing to learn.
        """
        import torch

        chosen = torch.nonzero(places >= 0).flatten()
        total = torch.zeros(())
        if not len(chosen):
            return total
        for name, layer in self._layers.items():
            queries = self._heads(self._caught[name, "to_q"][chosen], layer.heads)
            keys = self._heads(self._caught[name, "to_k"][chosen], layer.heads)
            weights = torch.softmax(queries @ keys.transpose(-1, -2) * layer.scale, -1)
            column = weights[torch.arange(len(chosen)), :, :, places[chosen]].mean(1)
            side = round(column.shape[-1] ** 0.5)
            inside = torch.nn.functional.adaptive_avg_pool2d(roi[chosen, None], side).flatten(1)
            share = (column * inside).sum(-1) / column.sum(-1)
            total = total - torch.log(share + 1e-3).mean()
        return total / len(self._layers)

    @staticmethod
    def _heads(values: Tensor, heads: int) -> Tensor:
        rows, length, width = values.shape
        return values.view(rows, length, heads, width // heads).transpose(1, 2)

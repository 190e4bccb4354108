"""Training: matching pictures with texts, and changes of a patient with changes of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.chest_spec import ChestSpec
from medebench.phantoms.training.chest_encoder.statements import (
    Change,
    claims,
    happened,
    stated,
    texts,
    true_of,
)
from medebench.phantoms.training.loop import Losses, train
from medebench.phantoms.training.model_recipes import EncoderRecipe
from medebench.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import CLIPTokenizer, VisionTextDualEncoderModel
#: Pixels to each side that a blur looks at, and the patterns that a compressed cell keeps.
REACH = 3
CELL, KEPT = 4, 8


@dataclass(frozen=True)
class Patients:
    """Three pictures of each (n, 3, h, w), and what they show."""

    pictures: NDArray[np.uint8]
    specs: Sequence[tuple[ChestSpec, ChestSpec, ChestSpec]]

    def __len__(self) -> int:
        return len(self.specs)


@dataclass(frozen=True)
class Batch:
    """Changes between pictures 2k and 2k + 1, and between texts 2k and 2k + 1."""

    pictures: Tensor
    texts: list[str]
    #: Where nothing changed: pairs of places among the pictures.
    same: Tensor
    true: Tensor
    forward: Tensor
    backward: Tensor
    apart: Tensor


def learn(
    patients: Patients,
    network: VisionTextDualEncoderModel,
    tokenizer: CLIPTokenizer,
    recipe: EncoderRecipe,
    folder: Path,
    progress: Progress = silent,
) -> list[dict[str, float]]:
    """Train in place, continuing what is in `folder`; returns the loss curve."""
    import torch

    optimizer = torch.optim.AdamW(network.parameters(), lr=recipe.rate, weight_decay=recipe.decay)

    def losses(step: int) -> Losses:
        return {"loss": loss_of(network, tokenizer, draw_batch(patients, recipe, step), recipe)}

    return train(network, optimizer, losses, recipe, folder, progress)


def draw_batch(patients: Patients, recipe: EncoderRecipe, step: int) -> Batch:
    """Of each patient: as drawn and with another finding; as drawn and with the other change."""
    import torch

    rng = np.random.default_rng((recipe.seed, step))
    torch.manual_seed(recipe.seed * 100_003 + step)
    specs: list[ChestSpec] = []
    chosen: list[NDArray[np.uint8]] = []
    wording: list[str] = []
    pairs: list[Change] = []
    for index in rng.integers(len(patients), size=recipe.batch):
        for other in (1, 2):
            # Additions and removals equally often, whatever the population has.
            two = (0, other) if rng.random() < 0.5 else (other, 0)
            chosen += [patients.pictures[index, place] for place in two]
            change = Change(*(patients.specs[index][place] for place in two))
            specs += [change.before, change.after]
            pairs.append(change)
            wording += texts(change, rng)
    shown = torch.from_numpy(np.stack(chosen)).float()[:, None] / 255
    right, down = (int(far) for far in rng.integers(-recipe.shift, recipe.shift + 1, size=2))
    claimed, known = [claims(text) for text in wording], [true_of(spec) for spec in specs]
    told = [stated(*wording[place : place + 2]) for place in range(0, len(wording), 2)]
    facts = [happened(change) for change in pairs]
    return Batch(
        disturb(moved(shown, right, down), recipe),
        wording,
        torch.tensor(_drawn_twice(specs)),
        torch.tensor([[one <= all_true for one in claimed] for all_true in known]),
        torch.tensor([[text <= one for text in told] for one in facts]),
        torch.tensor([[text <= -one for text in told] for one in facts]),
        torch.tensor([[not text.touches(one) for text in told] for one in facts]),
    )


def _drawn_twice(specs: Sequence[ChestSpec]) -> list[tuple[int, int]]:
    """The two places, among four, where the patient is as drawn."""
    places = []
    for start in range(0, len(specs), 4):
        first, second = specs[start : start + 2], specs[start + 2 : start + 4]
        one, other = next((i, j) for i in (0, 1) for j in (0, 1) if first[i] == second[j])
        places.append((start + one, start + 2 + other))
    return places


def loss_of(network: Any, tokenizer: Any, batch: Batch, recipe: EncoderRecipe) -> Tensor:
    from torch.nn.functional import normalize

    read = tokenizer(batch.texts, padding=True, truncation=True, return_tensors="pt")
    pixels = (2 * batch.pictures - 1).expand(-1, 3, -1, -1)
    seen = normalize(network.get_image_features(pixel_values=pixels).pooler_output, dim=-1)
    meant = normalize(network.get_text_features(**read).pooler_output, dim=-1)
    return pictures_and_texts(seen, meant, batch.true, recipe.sharpness) + changes(
        seen[1::2] - seen[::2],
        meant[1::2] - meant[::2],
        seen[batch.same[:, 1]] - seen[batch.same[:, 0]],
        batch.forward,
        batch.backward,
        batch.apart,
        recipe,
    )


def choice_loss(likeness: Tensor, true: Tensor) -> Tensor:
    """Rows choose among columns; row k's own column is k, other true ones do not count."""
    import torch
    from torch.nn.functional import cross_entropy

    own = torch.arange(len(likeness))
    beside = true.clone()
    beside[own, own] = False
    return cross_entropy(likeness.masked_fill(beside, float("-inf")), own)


def pictures_and_texts(pictures: Tensor, texts: Tensor, true: Tensor, sharpness: float) -> Tensor:
    """`true[i, j]`: text j is true of picture i; text k was written about picture k."""
    likeness = sharpness * pictures @ texts.T
    return (choice_loss(likeness, true) + choice_loss(likeness.T, true.T)) / 2


def changes(
    seen: Tensor,
    read: Tensor,
    nothing: Tensor,
    forward: Tensor,
    backward: Tensor,
    apart: Tensor,
    recipe: EncoderRecipe,
) -> Tensor:
    """`forward[i, j]`: texts j tell change i; `backward[i, j]`: they tell it the other way;
    `apart[i, j]`: they tell of something else.
    """
    import torch
    from torch.nn.functional import normalize

    seen, read, nothing = (normalize(one, dim=-1, eps=1e-4) for one in (seen, read, nothing))
    likeness, idle = seen @ read.T, nothing @ read.T
    by_text = torch.cat([likeness, -likeness, idle]).T
    by_picture = torch.cat([likeness, -likeness], dim=1)
    none = torch.zeros(len(read), len(nothing), dtype=torch.bool)
    sharp = recipe.change_sharpness
    telling = choice_loss(sharp * by_text, torch.cat([forward.T, backward.T, none], dim=1))
    telling = telling + choice_loss(sharp * by_picture, torch.cat([forward, backward], dim=1))
    pointing = (1 - likeness.diagonal()).mean() + idle.square().mean()
    pointing = pointing + (likeness.square() * apart).sum() / apart.sum().clamp(min=1)
    return recipe.telling * telling / 2 + recipe.pointing * pointing


def disturb(pictures: Tensor, recipe: EncoderRecipe) -> Tensor:
    """Each picture (n, 1, h, w), 0 to 1, in its own way; drawn from torch's generator."""
    import torch

    count = len(pictures)
    through = torch.rand(count, 1, 1, 1) < recipe.compressed
    pictures = torch.where(through, compress(pictures), pictures)
    # Half of them stay as sharp as they are.
    pictures = blurred(pictures, recipe.blur * torch.relu(2 * torch.rand(count) - 1))
    tone = 2 * torch.rand(count, 2, 1, 1, 1) - 1
    middle = pictures.mean((1, 2, 3), keepdim=True)
    pictures = middle + (pictures - middle) * (1 + recipe.contrast * tone[:, 0])
    pictures = pictures + recipe.brightness * tone[:, 1]
    noise = recipe.noise * torch.rand(count, 1, 1, 1).square()
    return (pictures + noise * torch.randn_like(pictures)).clamp(0, 1)


def moved(pictures: Tensor, right: int, down: int) -> Tensor:
    """All pictures by whole pixels; what comes in is what was at the edge."""
    from torch.nn.functional import pad

    height, width = pictures.shape[-2:]
    far = max(abs(right), abs(down))
    wide = pad(pictures, (far,) * 4, mode="replicate")
    return wide[..., far - down : far - down + height, far - right : far - right + width]


def blurred(pictures: Tensor, widths: Tensor) -> Tensor:
    """Each with a Gaussian of its own width in pixels; 0 leaves a picture as it is."""
    import torch
    from torch.nn.functional import conv2d, pad

    at = torch.arange(-REACH, REACH + 1)
    kernel = torch.exp(-0.5 * (at / widths[:, None].clamp(min=1e-3)).square())
    kernel = kernel / kernel.sum(1, keepdim=True)
    count = len(pictures)
    # A picture is a channel, and channels are not mixed.
    rows = pad(pictures.transpose(0, 1), (REACH,) * 4, mode="replicate")
    rows = conv2d(rows, kernel[:, None, None, :], groups=count)
    return conv2d(rows, kernel[:, None, :, None], groups=count).transpose(0, 1)


def compress(pictures: Tensor) -> Tensor:
    """Only the 8 smoothest of 16 patterns of every 4 x 4 pixels are left, as in an autoencoder."""
    from torch.nn.functional import conv2d, conv_transpose2d

    patterns = _patterns()
    return conv_transpose2d(conv2d(pictures, patterns, stride=CELL), patterns, stride=CELL)


def _patterns() -> Tensor:
    """The cosine transform's, smooth ones first."""
    import torch

    at = (torch.arange(CELL) + 0.5) * math.pi / CELL
    waves = torch.stack([torch.cos(at * order) for order in range(CELL)])
    waves = waves / waves.norm(dim=1, keepdim=True)
    orders = sorted(
        ((one, other) for one in range(CELL) for other in range(CELL)),
        key=lambda pair: (pair[0] ** 2 + pair[1] ** 2, pair),
    )
    chosen = [torch.outer(waves[one], waves[other]) for one, other in orders[:KEPT]]
    return torch.stack(chosen)[:, None]

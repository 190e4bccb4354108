"""Training: matching pictures with texts, and changes of a patient with changes of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.chest_spec import ChestSpec
from medebench.phantoms.training.chest_encoder.augmentation import disturb, moved
from medebench.phantoms.training.chest_encoder.contrastive_losses import changes, pictures_and_texts
from medebench.phantoms.training.chest_encoder.encoder_recipe import EncoderRecipe
from medebench.phantoms.training.chest_encoder.patient_change import Change
from medebench.phantoms.training.chest_encoder.statements import (
    claims,
    happened,
    stated,
    texts,
    true_of,
)
from medebench.phantoms.training.loop import Losses, train
from medebench.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import CLIPTokenizer, VisionTextDualEncoderModel


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

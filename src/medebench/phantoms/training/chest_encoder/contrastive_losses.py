"""The encoder's losses: which text is true, and in which direction a change goes.

With unit vectors e of pictures and t of texts, and unit vectors d of differences between two
pictures or two texts of the same patient,

    telling pictures   -log softmax over texts (and over pictures) of s e.t
    telling changes    -log softmax over changes of texts, forward and backward, of s' d.d,
                       and over changes of pictures, forward, backward and where nothing changed
    pointing           1 - d.d of a change with its own texts, and (d.d)^2 where nothing changed
                       or something that the texts do not speak of

What would be true as well is left out of a softmax: it is neither right nor wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medebench.phantoms.training.chest_encoder.encoder_recipe import EncoderRecipe

if TYPE_CHECKING:
    from torch import Tensor


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

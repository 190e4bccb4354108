"""A second loss: attention to the key concept should lie on the ROI.

In large models the attention to a word settles on the thing by itself; a model this small, trained
this briefly, manages without. The loss makes attention maps worth showing. The model card says that
the attention was trained, so it is no evidence that attention explains anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from medebench.grounding.concept import concept_of
from medebench.grounding.concept_tokens import token_index
from medebench.metrics.metric import Undefined
from medebench.phantoms.training.phantom_editor.instructions import Wording

if TYPE_CHECKING:
    from torch import Tensor


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

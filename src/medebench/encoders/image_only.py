"""Models of transformers that see pictures only: DINOv2 (RAD-DINO), ViT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medebench.encoders.pretrained_encoder import PretrainedEncoder

if TYPE_CHECKING:
    from torch import Tensor

#: Their pooler belongs to a task they were trained for, and many are published without one.
_UNPOOLED = frozenset(("vit", "deit"))


class SingleEncoder(PretrainedEncoder):
    """The vector of the whole picture: DINOv2's pooled output, else that of the class token."""

    kinds = frozenset(("deit", "dinov2", "dinov2_with_registers", "vit"))

    def _see(self, network: Any, pixels: Tensor) -> Tensor:
        told = network(pixel_values=pixels)
        unpooled = self.kind in _UNPOOLED
        vectors: Tensor = told.last_hidden_state[:, 0] if unpooled else told.pooler_output
        return vectors

    def _spare(self, key: str) -> bool:
        return super()._spare(key) or (self.kind in _UNPOOLED and key.startswith("pooler."))

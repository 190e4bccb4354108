"""ICEdit: the edit as the missing right half of a diptych whose left half is the input."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases.image import Picture
from medebench.editors.base import Refused, Request
from medebench.editors.diffusion.family import DiffusionEditor
from medebench.editors.diffusion.frame import Frame
from medebench.editors.diffusion.settings import INSTRUCTION, ICEditSettings
from medebench.grounding.attention import AttentionMap
from medebench.settings import Settings as AnySettings


@dataclass(frozen=True)
class Diptych(Frame):
    """A frame whose canvas is one half of what the model works on."""

    @property
    def whole(self) -> tuple[int, int]:
        return 2 * self.canvas[0], self.canvas[1]

    def to_model(self, picture: Picture, data_range: int) -> Image.Image:
        """The input on the left; the right is masked, so that what is there is never seen."""
        diptych = Image.new("RGB", self.whole)
        diptych.paste(super().to_model(picture, data_range), (0, 0))
        return diptych

    def from_model(self, values: NDArray[Any]) -> Picture:
        if values.ndim == 3 and values.shape[1::-1] != self.whole:
            raise Refused(f"the model returned no diptych: {values.shape[1]} x {values.shape[0]}")
        return super().from_model(self._right(values))

    def map_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        whole = AttentionMap(values, concept="", token="", layers=0, calls=0)
        right = whole.crop(slice(None), slice(self.canvas[0], None))
        return super().map_back(right.map)

    def facts(self, values: NDArray[Any]) -> dict[str, Any]:
        return {**super().facts(self._right(values)), "diptych": list(self.whole)}

    def _right(self, values: NDArray[Any]) -> NDArray[Any]:
        return values[:, self.canvas[0] :]


class ICEdit(DiffusionEditor):
    summary: ClassVar[str] = "ICEdit (FLUX.1 Fill with a LoRA) with the paper's settings"
    Settings: ClassVar[type[AnySettings]] = ICEditSettings
    accept: ClassVar[tuple[str, ...]] = ("prompt", "image", "mask_image")
    needs: ClassVar[str] = "weights (gated), a LoRA; about 40 GB on a GPU, 30 GB with offload=model"
    example: ClassVar[str] = "icedit:offload=model"

    def _frame(self, request: Request) -> Diptych:
        half = super()._frame(request)
        return Diptych(**{one.name: getattr(half, one.name) for one in fields(half)})

    def _text(self, request: Request) -> str:
        assert isinstance(self.settings, ICEditSettings)
        return self.settings.wording.replace(INSTRUCTION, request.instruction)

    def _arguments(
        self, requests: list[Request], pictures: list[Image.Image], texts: list[str]
    ) -> dict[str, Any]:
        arguments = super()._arguments(requests, pictures, texts)
        masks = [_right_half(one.size) for one in pictures]
        many = isinstance(arguments["image"], list)
        return {**arguments, "mask_image": masks if many else masks[0]}


def _right_half(size: tuple[int, int]) -> Image.Image:
    """White where the model is to paint."""
    width, height = size
    mask = Image.new("L", size)
    mask.paste(255, (width // 2, 0, width, height))
    return mask

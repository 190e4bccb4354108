"""ICEdit: the edit as the missing right half of a diptych whose left half is the input."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from medebench.grounding.attention_recorder import AttentionMap
from medebench.images.picture import Picture
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings, preset
from medebench.systems.diffusion.model_frame import Frame
from medebench.systems.request import Refused, Request
from medebench.systems.setting_types import PLACE, Wording


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


class ICEditSettings(DiffusionSettings):
    wording: Wording = Field(
        default="A diptych of one picture. Left: the original. Right: the same picture after this "
        f"edit, all else unchanged: {PLACE}",
        description=f"what the model is told; {PLACE} stands for the case's own words",
    )


class ICEdit(DiffusionEditor):
    summary = "ICEdit (FLUX.1 Fill with a LoRA) with the paper's settings"
    Settings = preset(
        ICEditSettings,
        model="black-forest-labs/FLUX.1-Fill-dev",
        steps=28,
        guidance=50.0,
        size=512,
        lora="RiverZ/normal-lora",
    )
    _accept = ("prompt", "image", "mask_image")
    needs = "weights (gated), a LoRA; about 40 GB on a GPU, 30 GB with offload=model"
    example = "icedit:offload=model"

    settings: ICEditSettings

    def _frame(self, request: Request) -> Diptych:
        half = super()._frame(request)
        return Diptych(**{one.name: getattr(half, one.name) for one in fields(half)})

    def _text(self, request: Request) -> str:
        return self.settings.wording.replace(PLACE, request.instruction)

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

"""The family's published models, each with the settings it is used with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from medebench.systems.diffusion import pipeline_lookup
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings, preset
from medebench.weights import Absent

#: Of the models in the manner of InstructPix2Pix.
_PIX2PIX: dict[str, Any] = {"scheduler": "euler-ancestral", "size": 512}


class _WithConfig(DiffusionSettings):
    config: str = Field(
        default="timbrooks/instruct-pix2pix",
        description="folder or hub id with the configuration of a single file",
    )


class InstructPix2Pix(DiffusionEditor):
    summary = "InstructPix2Pix with the paper's settings"
    Settings = preset(
        model="timbrooks/instruct-pix2pix", guidance=7.5, image_guidance=1.6, **_PIX2PIX
    )
    example = "instruct-pix2pix:image_guidance=1.55,guidance=7.6"


class PaintByInpaint(DiffusionEditor):
    summary = "Paint by Inpaint with the paper's settings"
    Settings = preset(
        model="paint-by-inpaint/general-base", guidance=7.0, image_guidance=1.7, **_PIX2PIX
    )
    example = "paint-by-inpaint:batch=4"


class InstructDiffusion(DiffusionEditor):
    summary = "InstructDiffusion from its single-file checkpoint"
    Settings = preset(_WithConfig, guidance=5.0, image_guidance=1.25, **_PIX2PIX)
    example = "instruct-diffusion:checkpoint.ckpt"

    settings: _WithConfig

    def problems(self) -> list[str]:
        found = super().problems()
        if self._is_single:
            config = pipeline_lookup.find_configuration(self.settings.config)
            problem = self._unless_fetched(config) if isinstance(config, Absent) else None
            found += [problem] if problem else []
        return found

    @property
    def _is_single(self) -> bool:
        return Path(self.settings.model).expanduser().is_file()

    def _config(self) -> Path | None:
        if not self._is_single:
            return None
        return pipeline_lookup.get_configuration(self.settings.config, self.settings.download)


class FluxKontext(DiffusionEditor):
    summary = "FLUX.1 Kontext with its authors' settings"
    Settings = preset(
        model="black-forest-labs/FLUX.1-Kontext-dev", steps=28, guidance=2.5, size=1024
    )
    needs = "weights (gated); about 40 GB on a GPU, 30 GB with offload=model"
    example = "flux-kontext:offload=model"


class Flux2(DiffusionEditor):
    summary = "FLUX.2 with its authors' settings; can be shown other cases"
    Settings = preset(model="black-forest-labs/FLUX.2-dev", steps=50, guidance=4.0, size=1024)
    needs = "weights (gated), torchvision; about 135 GB on a GPU, 77 GB with offload=model"
    example = "flux2:black-forest-labs/FLUX.2-klein-base-4B"


class QwenImageEdit(DiffusionEditor):
    summary = "Qwen-Image-Edit with its authors' settings; can be shown other cases"
    Settings = preset(model="Qwen/Qwen-Image-Edit-2509", steps=40, true_cfg=4.0, size=1024)
    needs = "weights, torchvision; about 70 GB on a GPU, 50 GB with offload=model"
    example = "qwen-image-edit:demonstrations=1,offload=model"

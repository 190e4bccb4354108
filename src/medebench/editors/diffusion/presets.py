"""The family's published models, each with the settings it is used with."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from medebench.editors.diffusion import finding
from medebench.editors.diffusion.family import DiffusionEditor
from medebench.editors.diffusion.settings import (
    FluxKontextSettings,
    InstructDiffusionSettings,
    InstructPix2PixSettings,
    PaintByInpaintSettings,
    PhantomEditorSettings,
    QwenImageEditSettings,
)
from medebench.settings import Settings as AnySettings
from medebench.weights import Absent


class InstructPix2Pix(DiffusionEditor):
    summary: ClassVar[str] = "InstructPix2Pix with the paper's settings"
    Settings: ClassVar[type[AnySettings]] = InstructPix2PixSettings
    example: ClassVar[str] = "instruct-pix2pix:image_guidance=1.55,guidance=7.6"


class PaintByInpaint(DiffusionEditor):
    summary: ClassVar[str] = "Paint by Inpaint with the paper's settings"
    Settings: ClassVar[type[AnySettings]] = PaintByInpaintSettings
    example: ClassVar[str] = "paint-by-inpaint:batch=4"


class InstructDiffusion(DiffusionEditor):
    summary: ClassVar[str] = "InstructDiffusion from its single-file checkpoint"
    Settings: ClassVar[type[AnySettings]] = InstructDiffusionSettings
    example: ClassVar[str] = "instruct-diffusion:checkpoint.ckpt"

    def problems(self) -> list[str]:
        found = super().problems()
        if self._is_single:
            config = finding.find_configuration(self._named_config)
            problem = self._unless_fetched(config) if isinstance(config, Absent) else None
            found += [problem] if problem else []
        return found

    @property
    def _is_single(self) -> bool:
        return Path(self.settings.model).expanduser().is_file()

    @property
    def _named_config(self) -> str:
        assert isinstance(self.settings, InstructDiffusionSettings)
        return self.settings.config

    def _config(self) -> Path | None:
        if not self._is_single:
            return None
        if self.settings.download:
            return finding.fetch_configuration(self._named_config)
        return finding.there(finding.find_configuration(self._named_config))


class FluxKontext(DiffusionEditor):
    summary: ClassVar[str] = "FLUX.1 Kontext with its authors' settings"
    Settings: ClassVar[type[AnySettings]] = FluxKontextSettings
    needs: ClassVar[str] = "weights (gated); about 40 GB on a GPU, 30 GB with offload=model"
    example: ClassVar[str] = "flux-kontext:offload=model"


class QwenImageEdit(DiffusionEditor):
    summary: ClassVar[str] = "Qwen-Image-Edit with its authors' settings; can be shown other cases"
    Settings: ClassVar[type[AnySettings]] = QwenImageEditSettings
    needs: ClassVar[str] = "weights, torchvision; about 70 GB on a GPU, 50 GB with offload=model"
    example: ClassVar[str] = "qwen-image-edit:demonstrations=1,offload=model"


class PhantomEditor(DiffusionEditor):
    summary: ClassVar[str] = "small diffusion model trained on phantoms; for trying and teaching"
    Settings: ClassVar[type[AnySettings]] = PhantomEditorSettings
    needs: ClassVar[str] = "nothing: it ships with the package"
    example: ClassVar[str] = "phantom-editor:steps=16"

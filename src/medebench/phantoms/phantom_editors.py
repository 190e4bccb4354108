"""The editors that ship with their weights: of phantoms, and RadEdit on chest phantoms."""

from __future__ import annotations

from pydantic import Field

from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.systems.diffusion.diffusion_settings import preset
from medebench.systems.radedit.radedit_editor import RadEdit
from medebench.systems.radedit.radedit_settings import CAPTION, RadEditSettings


class PhantomEditor(DiffusionEditor):
    summary = "small diffusion model trained on phantoms; for trying things out and teaching"
    Settings = preset(
        model="builtin:phantom-editor", steps=8, guidance=1.0, image_guidance=1.0, size=256
    )
    needs = "nothing: it ships with the package"
    example = "phantom-editor:steps=16"


class ChestEditorSettings(RadEditSettings):
    """Chosen on patients of seed 50000, whom neither training nor a stress test draws."""

    model: str = Field(
        default="builtin:chest-model", min_length=1, description="folder of another pipeline"
    )
    steps: int = Field(default=12, ge=1, le=1000, description="steps of the whole path")
    guidance: float = Field(default=1.5, ge=0, description="weight of the text")
    base: str = Field(
        default=CAPTION,
        description="prompt of the inversion and outside the edit mask; caption: the case's own",
    )
    batch: int = Field(default=16, ge=1, le=256, description="cases at a time")


class ChestEditor(RadEdit):
    summary = "RadEdit with the built-in diffusion model of chest phantoms"
    Settings = ChestEditorSettings
    needs = "nothing: its weights ship with the package"
    example = "chest-editor:masks=edit"

"""RadEdit on the chest model that ships, with settings chosen for it."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from medebench.editors.diffusion.settings import CHEST_MODEL
from medebench.editors.radedit.editor import RadEdit
from medebench.editors.radedit.settings import CAPTION, RadEditSettings
from medebench.settings import Settings as AnySettings


class ChestEditorSettings(RadEditSettings):
    """Chosen on patients of seed 50000, whom neither training nor a stress test draws."""

    model: str = Field(default=CHEST_MODEL, min_length=1, description="folder of another pipeline")
    steps: int = Field(default=12, ge=1, le=1000, description="steps of the whole path")
    guidance: float = Field(default=1.5, ge=0, description="weight of the text")
    base: str = Field(
        default=CAPTION,
        description="prompt of the inversion and outside the edit mask; caption: the case's own",
    )
    batch: int = Field(default=16, ge=1, le=256, description="cases at a time")


class ChestEditor(RadEdit):
    summary: ClassVar[str] = "RadEdit on a small diffusion model of chest phantoms that ships"
    Settings: ClassVar[type[AnySettings]] = ChestEditorSettings
    needs: ClassVar[str] = "nothing: its weights ship with the package"
    example: ClassVar[str] = "chest-editor:masks=edit"

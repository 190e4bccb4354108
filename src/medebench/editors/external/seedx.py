"""SEED-X: its repository has an environment of its own, so a worker there runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from medebench.editors.base import Request
from medebench.editors.external.command import CommandEditor
from medebench.editors.external.settings import CommandSettings
from medebench.settings import Settings as AnySettings

_PLACE = "{instruction}"
_HOW_TO = "set SEEDX_HOME and copy docs/examples/seedx_worker.py (docs/workers.md)"


class SeedXSettings(CommandSettings):
    command: str = Field("python seedx_worker.py", description="the worker beside SEED-X")
    steps: int = Field(50, ge=1, le=1000, description="denoising steps")
    wording: str = Field("Edit this image: {instruction}", description="what the model is told")

    @field_validator("wording")
    @classmethod
    def _has_a_place(cls, given: str) -> str:
        if _PLACE not in given:
            raise ValueError(f"expected {_PLACE} where the case's own belongs")
        return given


class SeedX(CommandEditor):
    summary: ClassVar[str] = "SEED-X with the paper's settings, run in its own environment"
    Settings: ClassVar[type[AnySettings]] = SeedXSettings
    needs: ClassVar[str] = "a checkout of SEED-X with its weights, and a GPU"
    example: ClassVar[str] = "'seed-x:seedx/bin/python seedx_worker.py'"

    settings: SeedXSettings

    def __init__(self, settings: SeedXSettings) -> None:
        super().__init__(settings)

    def problems(self) -> list[str]:
        return [f"{one}; {_HOW_TO}" for one in super().problems()]

    def told(self) -> Mapping[str, Any]:
        return {**self.settings.options, "steps": self.settings.steps}

    def instruction(self, request: Request) -> str:
        return self.settings.wording.replace(_PLACE, request.instruction)

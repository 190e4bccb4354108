"""SEED-X: its repository has an environment of its own, so a worker there runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from medebench.systems.external.command_editor import CommandEditor
from medebench.systems.external.external_settings import CommandSettings
from medebench.systems.request import Request
from medebench.systems.setting_types import PLACE, Wording

_HOW_TO = "set SEEDX_HOME and copy docs/examples/seedx_worker.py (docs/workers.md)"


class SeedXSettings(CommandSettings):
    command: str = Field("python seedx_worker.py", description="the worker beside SEED-X")
    steps: int = Field(50, ge=1, le=1000, description="denoising steps")
    wording: Wording = Field(f"Edit this image: {PLACE}", description="what the model is told")


class SeedX(CommandEditor):
    summary = "SEED-X with the paper's settings, run in its own environment"
    Settings = SeedXSettings
    needs = "a checkout of SEED-X with its weights, and a GPU"
    example = "'seed-x:seedx/bin/python seedx_worker.py'"

    gives = ("image",)
    settings: SeedXSettings

    def problems(self) -> list[str]:
        return [f"{one}; {_HOW_TO}" for one in super().problems()]

    def _told(self) -> Mapping[str, Any]:
        return {**self.settings.options, "steps": self.settings.steps}

    def _instruction(self, request: Request) -> str:
        return self.settings.wording.replace(PLACE, request.instruction)

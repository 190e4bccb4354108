"""What systems that run elsewhere can be told."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field, field_validator

from medebench.outputs import Part
from medebench.settings import Settings as AnySettings
from medebench.workers.command_line import words_of


class ExternalSettings(AnySettings):
    """What all systems that run elsewhere can be told."""

    runtime_only = frozenset({"timeout"})
    later = frozenset({"gives"})

    timeout: float = Field(600.0, gt=0, description="seconds for one case")
    demonstrations: int = Field(0, ge=0, le=64, description="solved cases to show with each")
    options: dict[str, Any] = Field({}, description="JSON that is passed on as `settings`")
    gives: Literal["image", "text", "both"] = Field("image", description="what comes back")

    @property
    def parts(self) -> tuple[Part, ...]:
        return ("image", "text") if self.gives == "both" else (self.gives,)

    @field_validator("options", mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        try:
            return json.loads(given) if isinstance(given, str) else given
        except ValueError:
            raise ValueError('expected JSON such as {"size": 512}') from None


class CommandSettings(ExternalSettings):
    runtime_only = ExternalSettings.runtime_only | {
        "start_timeout",
        "max_restarts",
        "workers",
    }

    command: str = Field(description="the program and its arguments; no shell is used")
    folder: str = Field("", description="where it is started; empty: here")
    start_timeout: float = Field(600.0, gt=0, description="seconds until it is ready")
    max_restarts: int = Field(3, ge=1, le=100, description="starts that may fail in a row")
    workers: int = Field(1, ge=1, le=64, description="processes at a time")

    @field_validator("command")
    @classmethod
    def _splits(cls, given: str) -> str:
        try:
            there = bool(words_of(given))
        except ValueError as error:
            raise ValueError(f"cannot be split into words ({error})") from None
        if not there:
            raise ValueError("expected a program and its arguments")
        return given

"""Settings of a client that change what a model is asked."""

from __future__ import annotations

from typing import Literal

from medebench.settings import Settings


class ClientOptions(Settings):
    #: OpenAI's image detail: "low" sends one small version and costs a tenth.
    detail: Literal["auto", "low", "high"] = "high"
    #: False: never send a JSON schema as a parameter, ask for JSON in words.
    structured: bool = True

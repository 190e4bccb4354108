"""What pages send, checked before anything is done with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from medebench.errors import one_line
from medebench.study.rankings import Ranks, State
from medebench.study.server.security import Problem

Model = TypeVar("Model", bound=BaseModel)


def _printable(text: str) -> str:
    if any(ord(letter) < 32 and letter not in "\n\r\t" for letter in text):
        raise ValueError("has a control character")
    return text


class Saving(BaseModel):
    """An answer as the page has it; `version` is the one that the page last saw."""

    model_config = ConfigDict(extra="forbid", strict=True)
    version: int = Field(ge=0, le=1_000_000)
    key: str = Field(pattern=r"\A[A-Za-z0-9_-]{8,64}\z")
    state: State
    ranks: Ranks
    reason: Annotated[str, AfterValidator(_printable)] = Field("", max_length=500)
    #: Active time on this task so far.
    seconds: float = Field(0.0, ge=0, le=10_000_000, allow_inf_nan=False)


async def read_body(request: Request, model: type[Model]) -> Model:
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the request"
        raise Problem(422, one_line(f"{field}: {first['msg']}", 200)) from None


def check_saving(saving: Saving, dimensions: Sequence[str], letters: Sequence[str]) -> None:
    """Raises Problem where the answer makes no sense for a task with these letters."""
    if set(saving.ranks) != set(dimensions):
        raise Problem(422, f"ranks: expected {', '.join(dimensions)}, and no others.")
    for dimension, groups in saving.ranks.items():
        ranked = [letter for group in groups for letter in group]
        if not all(groups):
            raise Problem(422, f"{dimension}: a place is empty.")
        if len(ranked) != len(set(ranked)):
            raise Problem(422, f"{dimension}: a letter appears twice.")
        if not set(ranked) <= set(letters):
            raise Problem(422, f"{dimension}: contains a letter that is not shown.")
        if saving.state == "done" and len(ranked) < len(letters):
            missing = ", ".join(letter for letter in letters if letter not in ranked)
            raise Problem(422, f"{dimension}: {missing} not ranked yet.")
    if saving.state == "skipped" and not saving.reason.strip():
        raise Problem(422, "reason: please say why you skip this case.")

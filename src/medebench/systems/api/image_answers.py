"""What came back: the picture in an answer, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medebench.errors import ImageError, one_line
from medebench.images.picture import Picture, read_picture
from medebench.models import Answer
from medebench.models.tally import add_costs

#: How much of a model's words stands in a reason, and how much in the detail beside it.
IN_A_REASON, IN_DETAIL = 160, 400
#: Stands for a file where a message names one.
_RETURNED = Path("the returned picture")


class Looker:
    """Decodes the pictures of answers, each once, in whichever thread first asks."""

    def __init__(self) -> None:
        self._seen: dict[str, Picture | ImageError] = {}

    def picture(self, answer: Answer) -> Picture | None:
        """The first that can be decoded."""
        for image in answer.images:
            if image.sha256 not in self._seen:
                try:
                    self._seen[image.sha256] = read_picture(_RETURNED, image.data)
                except ImageError as error:
                    self._seen[image.sha256] = error
            if not isinstance(found := self._seen[image.sha256], ImageError):
                return found
        return None

    def is_good(self, answer: Answer) -> bool:
        return self.picture(answer) is not None

    def complaint(self, answer: Answer) -> str:
        """Why this answer is of no use."""
        for image in answer.images:
            if isinstance(error := self._seen.get(image.sha256), ImageError):
                return str(error)
        if said := one_line(answer.text, IN_A_REASON):
            return f"the model answered with text only: {said}"
        return f"the model answered with neither picture nor text ({answer.finish})"


def refusal(answer: Answer) -> str:
    return f"the model refused: {one_line(answer.text, IN_A_REASON) or 'it does not say why'}"


def facts(answers: list[Answer]) -> dict[str, Any]:
    """What stands in the ledger beside the output. What was kept already has cost nothing now."""
    if not answers:
        return {}
    last = answers[-1]
    told: dict[str, Any] = {
        "model": last.model,
        "cost": add_costs([answer.cost for answer in answers if not answer.cached]),
        "tokens_in": sum(answer.tokens_in for answer in answers),
        "tokens_out": sum(answer.tokens_out for answer in answers),
        "tries": len(answers),
        "cached": last.cached,
    }
    if said := one_line(last.text, IN_DETAIL):
        told["said"] = said
    if last.without:
        told["without"] = list(last.without)
    return told

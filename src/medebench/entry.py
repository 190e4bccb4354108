"""What lists are made of: something that can be named, and whether it can be used here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, repr=False, kw_only=True)
class Entry:
    """A metric, judge, system, set of cases, ... as `mb.list_metrics()` and the like return it.

    >>> Entry(name="cp", summary="SSIM outside the ROI")
    <cp: SSIM outside the ROI>
    """

    name: str
    summary: str
    #: What a case, or the machine, must have for it.
    needs: tuple[str, ...] = ()
    #: Why it cannot be used here and what to do; None where it can.
    problem: str | None = None

    @property
    def ready(self) -> bool:
        return self.problem is None

    def __repr__(self) -> str:
        lacking = "" if self.ready else f" (not ready: {self.problem})"
        return f"<{self.name}: {self.summary}{lacking}>"

    def to_json(self) -> dict[str, Any]:
        """All fields by name, with `ready`."""
        return asdict(self) | {"ready": self.ready}

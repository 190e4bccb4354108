"""What the page needs besides the outcome: how it was made, and where the pictures are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from medebench.images.picture import Picture
from medebench.page.private_paths import without_folders
from medebench.runs.run_folder import Run
from medebench.settings import in_words
from medebench.stresstest.predictor_measures import THRESHOLD
from medebench.stresstest.recipe import Published, Shift
from medebench.stresstest.stress_outcome import EditOutcome, StressOutcome

Bools = NDArray[np.bool_]


class Pictures(Protocol):
    """The pictures of each edit, opened one edit after the other, from the thread that writes.

    Masks may have any size. A MedebenchError is shown in place of the picture it is about.
    """

    def before(self, edit: EditOutcome) -> Picture: ...

    def after(self, edit: EditOutcome) -> Picture | None:
        """None where there is no output."""

    def edit_mask(self, edit: EditOutcome) -> Bools | None:
        """Where it may change; None: everywhere."""

    def keep_mask(self, edit: EditOutcome) -> Bools | None:
        """What must stay; None: nothing."""

    def predicted(self, edit: EditOutcome, predictor: str) -> Bools | None:
        """What a segmenter marks in the edited picture; None where nobody asked it."""


@dataclass(frozen=True)
class PageContext:
    """How a stress test was made, for its page."""

    #: The class whose probability a classifier tells; without it, nobody is called right or wrong.
    positive: str = ""
    #: By predictor: a probability from which on it counts as the positive class, if not 0.5.
    cutoffs: Mapping[str, float] = field(default_factory=dict)
    #: Of a recipe. Where a paper reports on it, its figures are shown for comparison.
    shift: Shift | None = None
    #: What was tested, in a sentence or two.
    about: str = ""
    #: Headed lists of what and how: ("Editor", [("guidance", "15"), ...]).
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    #: The command that reproduces it.
    command: str = ""

    @property
    def published(self) -> Published | None:
        return self.shift.published if self.shift else None

    def right(
        self, outcome: StressOutcome, name: str, label: str, said: float | None
    ) -> bool | None:
        """Whether a classifier's answer is the true one; None where that cannot be told."""
        if outcome.task != "classification" or not self.positive or said is None:
            return None
        return (said >= self.cutoffs.get(name, THRESHOLD)) == (label == self.positive)


def run_facts(run: Run) -> list[tuple[str, str]]:
    """What `run.json` says about the edits, without the names of anybody's folders."""
    info = run.info
    chosen = {
        name: value for name, value in sorted(info.settings.items()) if value not in ("", None)
    }
    given = {
        "editor": info.editor,
        "settings": in_words(chosen),
        "origin": info.origin,
        "adopted from": info.adopted_from or "",
        "seed": str(info.seed),
        "requested edits": f"{info.cases.count:,}",
        "fingerprint of the cases": info.cases.fingerprint[:12],
        "made": info.created[:10],
        "versions": ", ".join(f"{name} {version}" for name, version in info.versions.items()),
    }
    return [(name, without_folders(run, text)) for name, text in given.items() if text]

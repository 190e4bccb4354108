"""The pictures of a stress test, for its page: from its run, its cases and what was predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture, read_picture
from medebench.cases.opened import OpenCase, open_case
from medebench.runs import Run
from medebench.stress.answering import Said
from medebench.stress.outcome import EditOutcome


class RunPictures:
    """One edit's pictures at a time are in memory."""

    def __init__(self, run: Run, said: Sequence[Said]) -> None:
        self._run = run
        self._said = {one.predictor.name: one for one in said}
        self._opened: OpenCase | None = None

    def before(self, edit: EditOutcome) -> Picture:
        return self._case(edit).previous

    def after(self, edit: EditOutcome) -> Picture | None:
        if not edit.output:
            return None
        return read_picture(self._run.output_path(edit.intended.id, 0))

    def edit_mask(self, edit: EditOutcome) -> NDArray[np.bool_] | None:
        case = self._case(edit)
        return None if case.case.roi is None else case.roi

    def keep_mask(self, edit: EditOutcome) -> NDArray[np.bool_] | None:
        return self._case(edit).keep

    def predicted(self, edit: EditOutcome, predictor: str) -> NDArray[np.bool_] | None:
        value = self._said[predictor].edits.get(edit.intended.id)
        return None if value is None or isinstance(value, float) else value

    def _case(self, edit: EditOutcome) -> OpenCase:
        if self._opened is None or self._opened.case.id != edit.intended.id:
            self._opened = open_case(self._run.cases[edit.intended.id])
        return self._opened

"""Watching where a pipeline looks for the key concept while it edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.grounding.attention_recorder import Recorder, can_record, record
from medebench.grounding.concept import concept_of
from medebench.grounding.concept_tokens import Token, find_token
from medebench.metrics.metric import Undefined
from medebench.systems.request import Request


@dataclass(frozen=True)
class Looked:
    """Where one edit looked, with what the ledger keeps of it; or why that is not known."""

    map: NDArray[np.float32] | None
    detail: dict[str, Any]

    def facts(self) -> dict[str, Any]:
        return {"attention": self.detail} if self.detail else {}


#: What is looked for in the text of a request, and who chose it; or why that is not known.
_Wanted = tuple[Token, str] | str


@dataclass
class _Watched:
    wanted: list[_Wanted]
    recorder: Recorder | None = None

    def maps(self, width: int, height: int) -> list[Looked]:
        if self.recorder is None:
            return [Looked(None, {"reason": one} if one else {}) for one in self.wanted]
        try:
            found = self.recorder.maps(height, width)
        except Undefined as error:
            return [Looked(None, {"reason": str(error)}) for _ in self.wanted]
        looked = []
        for wanted, one in zip(self.wanted, found, strict=True):
            if isinstance(wanted, str):
                looked.append(Looked(None, {"reason": wanted}))
                continue
            token, source = wanted
            facts = {"concept": token.concept, "source": source, "token": token.text}
            looked.append(Looked(one.map, {**facts, "layers": one.layers, "steps": one.calls}))
        return looked


class Looking:
    """Recording, if it is wanted and the pipeline's attention can be read."""

    def __init__(self, pipe: Any, wanted: bool) -> None:
        self._pipe = pipe
        self._reason = can_record(pipe) if wanted else ""

    @contextmanager
    def at(
        self, requests: Sequence[Request], texts: Sequence[str] | None = None
    ) -> Iterator[_Watched]:
        """`texts` are what the pipeline is told, where that is more than the instruction."""
        if self._reason is not None:
            yield _Watched([self._reason] * len(requests))
            return
        wanted: list[_Wanted] = []
        for index, request in enumerate(requests):
            said = request.instruction
            text = said if texts is None else texts[index]
            try:
                # The concept is the instruction's, though the text around it may name it too.
                concept = concept_of(said, request.case.case.key_concept)
                token = find_token(self._pipe, text, concept.text, instruction=said)
                wanted.append((token, concept.source))
            except Undefined as error:
                wanted.append(str(error))
        if all(isinstance(one, str) for one in wanted):
            yield _Watched(wanted)
            return
        # A request without a concept still has a place in the batch; its map is not used.
        places = [Token(0) if isinstance(one, str) else one[0] for one in wanted]
        with record(self._pipe, places) as recorder:
            yield _Watched(wanted, recorder)

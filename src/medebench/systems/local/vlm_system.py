"""`transformers:MODEL`: a multimodal model of transformers that answers on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from medebench.device import (
    TRANSFORMERS,
    missing_releases,
    no_device,
    out_of_memory,
    release_memory,
)
from medebench.errors import InputError, NotReadyError
from medebench.outputs import Output
from medebench.systems.answer_prompts import ANSWER, question_facts, question_text
from medebench.systems.input_images import image_facts, image_labels, screen_images
from medebench.systems.local.vlm_settings import VlmSettings
from medebench.systems.request import Refused, Request
from medebench.systems.system import System
from medebench.weights import Absent, find_weights

if TYPE_CHECKING:
    from medebench.systems.local.vlm_model import VlmAnswer, VlmModel

#: Seeds of torch end here.
_SEEDS = 2**63


class LocalVlm(System):
    """Loaded at the first answer, from files that are here: nothing is fetched in silence."""

    summary = "a multimodal model of transformers that answers in words, on this machine"
    Settings = VlmSettings
    argument = "model"
    needs = "the extra [metrics], weights; a GPU for all but small models"
    example = "transformers:Qwen/Qwen3-VL-8B-Instruct,batch=4"
    gives = ("text",)

    settings: VlmSettings

    def __init__(self, settings: VlmSettings) -> None:
        super().__init__(settings)
        self.batch = settings.batch
        self._lock = RLock()

    def problems(self) -> list[str]:
        if lacking := missing_releases(TRANSFORMERS, "metrics"):
            return [lacking]
        from medebench.systems.local.vlm_model import memory_problem, vlm_problem

        one = self.settings
        found: list[str | None] = [no_device(one.device)]
        weights = find_weights(one.model)
        if isinstance(weights, Absent):
            fetched = one.download and weights.downloadable
            found.append(None if fetched else weights.problem)
        else:
            found.append(
                vlm_problem(weights.path, one.model) or memory_problem(weights.path, one.model, one)
            )
        return [problem for problem in found if problem]

    def identity(self) -> str:
        """The commit or hash of the weights."""
        found = find_weights(self.settings.model)
        return "" if isinstance(found, Absent) else found.identity

    def prepare(self) -> None:
        """Load: what is wrong with the weights ends the command, not each case alone."""
        with self._lock:
            _ = self._model

    def close(self) -> None:
        """Give the memory back; the next answer loads again."""
        with self._lock:
            self.__dict__.pop("_model", None)
        release_memory()

    def generate(self, request: Request) -> Output:
        (made,) = self.generate_batch([request])
        if isinstance(made, Refused):
            raise made
        return made

    def generate_batch(self, requests: Sequence[Request]) -> list[Output | Refused]:
        """All at once where the likeliest words are taken; what is drawn has its own seed each."""
        made: dict[int, Output | Refused] = {}
        asked: dict[int, list[Any]] = {}
        with self._lock:
            for index, request in enumerate(requests):
                try:
                    asked[index] = self._turn(request)
                except (Refused, InputError) as error:
                    made[index] = Refused(str(error))
            size = 1 if self.settings.temperature else max(1, self.settings.batch)
            left = list(asked)
            for start in range(0, len(left), size):
                some = left[start : start + size]
                said = self._say([requests[i] for i in some], [asked[i] for i in some])
                made.update(zip(some, said, strict=True))
        return [made[index] for index in range(len(requests))]

    def _turn(self, request: Request) -> list[Any]:
        """Labels, images and question, in the order in which they are read."""
        from PIL import Image

        if "image" in request.gives:
            raise Refused(f"the case asks for an image, and {self.settings.model} gives text")
        one, case = self.settings, request.case
        turn: list[Any] = []
        labels = image_labels(case, one.images)
        for label, pixels in zip(
            labels, screen_images(case, one.images, one.image_size), strict=True
        ):
            turn += [label] if label else []
            turn.append(Image.fromarray(pixels))
        return [*turn, question_text(request)]

    def _say(self, requests: list[Request], turns: list[list[Any]]) -> list[Output | Refused]:
        """A batch that does not fit is done one by one."""
        try:
            said = self._model.say(ANSWER.system, turns, requests[0].seed % _SEEDS)
        except Exception as error:
            if not out_of_memory(error):
                raise
            said = None
        if said is not None:
            answered = zip(requests, turns, said, strict=True)
            return [self._output(request, turn[-1], one) for request, turn, one in answered]
        # Outside the handler, which holds on to the failed call's memory.
        if len(requests) > 1:
            pairs = zip(requests, turns, strict=True)
            return [self._say([request], [turn])[0] for request, turn in pairs]
        return [Refused("out of memory; lower image_size or max_new_tokens, or use images=sheet")]

    def _output(self, request: Request, asked: str, said: VlmAnswer) -> Output | Refused:
        detail = question_facts(request, asked) | image_facts(request.case, self.settings.images)
        detail |= {"tokens_in": said.tokens_in, "tokens_out": said.tokens_out}
        detail |= {"device": self._model.device, "dtype": self._model.dtype}
        if said.is_cut:
            detail |= {"finish": "length", "truncated": True}
        if not said.text:
            return Refused("the model answered with nothing", detail)
        return Output(text=said.text, detail=detail)

    @cached_property
    def _model(self) -> VlmModel:
        from medebench.systems.local.vlm_model import VlmModel, vlm_problem

        one = self.settings
        weights = find_weights(one.model)
        if isinstance(weights, Absent) and one.download and weights.downloadable:
            from medebench.weights.acquisition import get_weights

            weights = get_weights(one.model)
        if isinstance(weights, Absent):
            raise NotReadyError(weights.problem)
        if problem := vlm_problem(weights.path, one.model):
            raise NotReadyError(problem)
        return VlmModel(weights.path, one.model, one)

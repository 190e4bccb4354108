"""One adapter for every instruction-editing pipeline of diffusers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.cases.open_case import OpenCase
from medebench.device import out_of_memory, release_memory
from medebench.errors import ImageError, InputError
from medebench.outputs import Output
from medebench.quiet import quiet
from medebench.settings import Settings as AnySettings
from medebench.systems.diffusion import diffusion_device, pipeline_lookup
from medebench.systems.diffusion.diffusion_settings import LOADED_BY, DiffusionSettings
from medebench.systems.diffusion.model_frame import Frame, frame_for
from medebench.systems.diffusion.pipeline_weights import Weights
from medebench.systems.few_shot import shown_facts, shown_text
from medebench.systems.request import Refused, Request
from medebench.systems.system import Editor
from medebench.weights import Absent

if TYPE_CHECKING:
    from PIL import Image

    from medebench.systems.diffusion.attention_watch import Looked, Looking
    from medebench.systems.diffusion.pipeline_loader import Loaded


class DiffusionEditor(Editor):
    """A pipeline that takes a picture and an instruction; loaded at the first edit."""

    summary = "any instruction-editing pipeline of diffusers"
    Settings: ClassVar[type[AnySettings]] = DiffusionSettings
    argument = "model"
    #: What the pipeline's call must take.
    _accept: ClassVar[tuple[str, ...]] = ("prompt", "image")
    #: What lives and goes with the loaded pipeline.
    _held: ClassVar[tuple[str, ...]] = ("_loaded", "_looking")
    needs = "weights; a GPU for all but small models"
    example = "diffusers:black-forest-labs/FLUX.1-Kontext-dev,steps=28"

    settings: DiffusionSettings

    def __init__(self, settings: DiffusionSettings) -> None:
        super().__init__(settings)
        self.batch = settings.batch
        self.demonstrations = settings.demonstrations
        self._lock = RLock()

    def problems(self) -> list[str]:
        """What stands in the way of an edit here, a line each, with what to do."""
        if lacking := diffusion_device.missing_packages():
            return [lacking]
        found: list[str | None] = [diffusion_device.device_problem(self.settings)]
        weights = pipeline_lookup.find_weights(self.settings.model, self._leave_out)
        if isinstance(weights, Absent):
            found.append(self._unless_fetched(weights))
        else:
            found.append(diffusion_device.missing_for(weights))
            if not any(found):
                found.append(self._memory_problem(weights))
        if self.settings.lora:
            lora = pipeline_lookup.find_lora(self.settings.lora)
            found.append(self._unless_fetched(lora) if isinstance(lora, Absent) else None)
        return [problem for problem in found if problem]

    def identity(self) -> str:
        """The commit or hash of the weights, and of the LoRA."""
        lora = self._lora
        said = self._weights.identity()
        return said if lora is None else f"{said}, {pipeline_lookup.lora_identity(lora)}"

    def prepare(self) -> None:
        """Load: what is wrong with weights or settings ends the command, not each case alone."""
        from medebench.systems.diffusion.pipeline_call import check_demonstrations, guidance

        with self._lock:
            guidance(self._loaded, self.settings)
            check_demonstrations(self._loaded, self.demonstrations)

    def share(self, other: object) -> bool:
        """Work with the pipeline that `other` has loaded, if it is the one this one would load."""
        if type(other) is not type(self) or "_loaded" not in other.__dict__:
            return False
        given = self.settings.model_dump()
        if any(given[name] != getattr(other.settings, name) for name in given if name in LOADED_BY):
            return False
        self._forget()
        self._loaded, self._lock = other._loaded, other._lock
        return True

    def close(self) -> None:
        """Give the memory back; the next edit loads again."""
        with self._lock:
            self._forget()
        release_memory()

    def _forget(self) -> None:
        for name in self._held:
            self.__dict__.pop(name, None)

    def edit(self, request: Request) -> Output:
        (made,) = self.edit_batch([request])
        if isinstance(made, Refused):
            raise made
        return made

    def edit_batch(self, requests: Sequence[Request]) -> list[Output | Refused]:
        """Requests whose canvases are equal go through the pipeline together."""
        groups: dict[tuple[int, int], list[int]] = {}
        frames: dict[int, Frame] = {}
        made: dict[int, Output | Refused] = {}
        with self._lock:
            for index, request in enumerate(requests):
                try:
                    frames[index] = self._frame(request)
                    groups.setdefault(frames[index].canvas, []).append(index)
                except (Refused, ImageError) as error:
                    made[index] = Refused(str(error))
            for chosen in groups.values():
                size = self._at_once()
                for start in range(0, len(chosen), size):
                    some = chosen[start : start + size]
                    results = self._run([requests[i] for i in some], [frames[i] for i in some])
                    made.update(zip(some, results, strict=True))
        return [made[index] for index in range(len(requests))]

    def _at_once(self) -> int:
        """How many requests go through the pipeline together."""
        from medebench.systems.diffusion.pipeline_call import takes_many

        return self.settings.batch if takes_many(self._loaded) else 1

    def _memory_problem(self, weights: Weights) -> str | None:
        return diffusion_device.memory_problem(weights, self.settings)

    def _unless_fetched(self, absent: Absent) -> str | None:
        return None if self.settings.download and absent.downloadable else absent.problem

    @property
    def _leave_out(self) -> tuple[str, ...]:
        return () if self.settings.safety_checker else ("safety_checker",)

    @cached_property
    def _weights(self) -> Weights:
        one = self.settings
        return pipeline_lookup.get_weights(one.model, self._leave_out, one.download)

    @cached_property
    def _lora(self) -> Path | None:
        lora = self.settings.lora
        return pipeline_lookup.get_lora(lora, self.settings.download) if lora else None

    @cached_property
    def _loaded(self) -> Loaded:
        from medebench.systems.diffusion.pipeline_loader import load

        return load(self._weights, self.settings, self._config(), self._lora, self._accept)

    def _config(self) -> Path | None:
        return None

    @cached_property
    def _looking(self) -> Looking:
        from medebench.systems.diffusion.attention_watch import Looking

        return Looking(self._loaded.pipe, self.settings.attention)

    def _frame(self, request: Request) -> Frame:
        return self._frame_for(request.case)

    def _frame_for(self, case: OpenCase) -> Frame:
        settings, loaded = self.settings, self._loaded
        size = settings.size or loaded.size
        return frame_for(case.previous, size, loaded.multiple, settings.framing, loaded.largest)

    def _told(self, frame: Frame) -> dict[str, Any]:
        """What the ledger keeps of an output besides what all of the family have."""
        return {}

    def _text(self, request: Request) -> str:
        """What the pipeline is told."""
        return shown_text(request)

    def _run(self, requests: list[Request], frames: list[Frame]) -> list[Output | Refused]:
        """One call of the pipeline; a batch that does not fit is done one by one."""
        try:
            result, looked = self._call(requests, frames)
        except Refused as refused:
            return [refused for _ in requests]
        except Exception as error:
            if not out_of_memory(error):
                raise
            short = True
        else:
            short = False
        if short:  # outside the handler, which holds on to the failed call's memory
            if len(requests) > 1:
                pairs = zip(requests, frames, strict=True)
                return [self._run([one], [frame])[0] for one, frame in pairs]
            hint = "lower size, or use slicing, tiling or, on a GPU, offload=model"
            return [Refused(f"out of memory; {hint}")]
        flagged = getattr(result, "nsfw_content_detected", None) or [False] * len(requests)
        return [
            self._made(values, frame, one, bool(blackened), shown_facts(request))
            for values, frame, one, blackened, request in zip(
                result.images, frames, looked, flagged, requests, strict=True
            )
        ]

    def _call(self, requests: list[Request], frames: list[Frame]) -> tuple[Any, list[Looked]]:
        import torch

        pictures = as_seen(requests, frames)
        texts = [self._text(request) for request in requests]
        arguments = self._arguments(requests, pictures, texts)
        width, height = pictures[0].size
        with (
            quiet("diffusers", "transformers"),
            torch.inference_mode(),
            self._looking.at(requests, texts) as seen,
        ):
            result = self._loaded.pipe(**arguments)
        return result, seen.maps(width, height)

    def _arguments(
        self, requests: list[Request], pictures: list[Image.Image], texts: list[str]
    ) -> dict[str, Any]:
        from medebench.systems.diffusion.pipeline_call import call_arguments

        seeds = [request.seed for request in requests]
        shown = [picture for request in requests for picture in self._shown(request)]
        return call_arguments(self._loaded, self.settings, pictures, texts, seeds, shown)

    def _shown(self, request: Request) -> Iterator[Image.Image]:
        """Before and after of each demonstration; each pair has a canvas of its own."""
        count = len(request.demonstrations)
        if count != self.demonstrations:
            raise Refused(f"{count} demonstrations were given, {self.demonstrations} are wanted")
        for case in request.demonstrations:
            try:
                frame = self._frame_for(case)
                for picture in (case.previous, case.reference):
                    yield frame.to_model(picture, case.data_range)
            except (Refused, InputError) as error:
                raise Refused(f"demonstration {case.case.id}: {error}") from error

    def _made(
        self,
        values: Any,
        frame: Frame,
        looked: Looked,
        blackened: bool,
        more: dict[str, Any] | None = None,
    ) -> Output | Refused:
        if blackened:
            return Refused("the model's safety checker withheld the picture")
        try:
            picture = frame.from_model(values)
        except Refused as refused:
            return refused
        attention = None if looked.map is None else frame.map_back(looked.map)
        facts = {"frame": frame.facts(values), **(more or {}), **self._told(frame)}
        facts |= {"device": self._loaded.device, "dtype": self._loaded.dtype}
        return Output(picture, detail=facts | looked.facts(), attention=attention)


def as_seen(requests: Sequence[Request], frames: Sequence[Frame]) -> list[Image.Image]:
    """The input pictures in their frames."""
    cases = [request.case for request in requests]
    pairs = zip(cases, frames, strict=True)
    return [frame.to_model(case.previous, case.data_range) for case, frame in pairs]

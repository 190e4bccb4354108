"""RadEdit (Pérez-García et al., 2024) as an editor, on any text-to-image pipeline over latents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.editors.base import Edit, Refused, Request
from medebench.editors.diffusion.family import DiffusionEditor
from medebench.editors.diffusion.frame import Frame
from medebench.editors.radedit import published
from medebench.editors.radedit.framed import Framed, framed
from medebench.editors.radedit.masks import Sources
from medebench.editors.radedit.settings import CAPTION, RadEditSettings
from medebench.errors import NotReadyError
from medebench.quiet import quiet
from medebench.settings import Settings as AnySettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from medebench.editors.diffusion.looking import Looked
    from medebench.editors.diffusion.weights import Weights
    from medebench.editors.radedit.network import Network


class _Result:
    """What the family expects of a pipeline's call."""

    def __init__(self, images: NDArray[np.float32]) -> None:
        self.images = images


class RadEdit(DiffusionEditor):
    """Inverts the picture, then denoises it: the prompt acts under the edit mask alone.

    Cases are told what the picture shows after the edit. A batch is edited together; each of its
    pictures has its own seed, masks and texts.
    """

    summary: ClassVar[str] = "RadEdit: text acts under an edit mask, a keep mask stays as it is"
    Settings: ClassVar[type[AnySettings]] = RadEditSettings
    sees: ClassVar[tuple[str, ...]] = ("roi", "keep")
    accept: ClassVar[tuple[str, ...]] = ("prompt",)
    held: ClassVar[tuple[str, ...]] = (*DiffusionEditor.held, "_network")
    needs: ClassVar[str] = "weights of a text-to-image model; a GPU for all but small ones"
    example: ClassVar[str] = f"radedit:{published.RADEDIT},skip=0.3"

    settings: RadEditSettings

    def __init__(self, settings: RadEditSettings) -> None:
        super().__init__(settings)
        shown = {"both": ("roi", "keep"), "none": ()}.get(settings.masks, ("roi",))
        # Which masks it is shown is a matter of settings.
        self.__dict__["sees"] = (*shown, *((CAPTION,) if settings.base == CAPTION else ()))
        self._sources = Sources(settings)

    def problems(self) -> list[str]:
        if not published.is_published(self.settings.model):
            return [*super().problems(), *self._sources.problems()]
        if found := published.problems(self.settings.download):
            return [*found, *self._sources.problems()]
        if (weights := published.weights()) is None:  # to be fetched
            return self._sources.problems()
        return type(self)(self.settings.model_copy(update={"model": str(weights.path)})).problems()

    def identity(self) -> str:
        return ", ".join(filter(None, [super().identity(), self._sources.identity()]))

    def prepare(self) -> None:
        with self._lock:
            self._network.path(self.settings.steps, *[self.settings.size or self._loaded.size] * 2)

    @cached_property
    def _weights(self) -> Weights:
        if published.is_published(self.settings.model):
            if found := published.weights(self.settings.download):
                return found
            raise NotReadyError("\n".join(published.problems(self.settings.download)))
        return super()._weights

    @cached_property
    def _network(self) -> Network:
        from medebench.editors.radedit.kinds import network_of

        return network_of(self._loaded)

    def _at_once(self) -> int:
        return self.settings.batch

    def _frame(self, request: Request) -> Framed:
        told = {"base": self._base(request)}
        cell = int(self._loaded.pipe.vae_scale_factor)
        made = framed(super()._frame(request), request.case, self._sources, cell)
        return replace(made, told=told | made.told)

    def _base(self, request: Request) -> str:
        if self.settings.base != CAPTION:
            return self.settings.base
        if not request.case.case.caption:
            raise Refused(f"base={CAPTION}: the case has no caption; write one, or leave base out")
        return request.case.case.caption

    def _call(self, requests: list[Request], frames: list[Frame]) -> tuple[Any, list[Looked]]:
        """The whole edit of a batch; the base prediction is a pass of its own each time.

        In one pass together with the text's, it would be computed in another order than in the
        inversion, and rounding would tell the two apart.
        """
        import torch

        from medebench.editors.radedit.inversion import denoise, draw_states, invert

        network, settings = self._network, self.settings
        pictures = [
            frame.to_model(request.case.previous, request.case.data_range)
            for request, frame in zip(requests, frames, strict=True)
        ]
        width, height = pictures[0].size
        path = network.path(settings.steps, width, height).skipped(settings.skip)
        texts = [self._text(request) for request in requests]
        with quiet("diffusers", "transformers"), torch.inference_mode():
            base = network.read([self._base(request) for request in requests])
            told = network.read(texts)
            generators = [torch.Generator("cpu").manual_seed(one.seed) for one in requests]
            states = draw_states(network.encode(pictures), path, generators)
            plain = partial(network.predict, text=base)
            inverted = invert(states, path, network.prediction, plain)
            with self._looking.at(requests, texts) as seen:

                def unseen(latents: Tensor, timestep: float) -> Tensor:
                    with seen.recorder.paused() if seen.recorder else nullcontext():
                        return plain(latents, timestep)

                edited = denoise(
                    inverted,
                    unseen,
                    partial(network.predict, text=told),
                    settings.guidance,
                    _stacked([one.edit_cells for one in _framed(frames)], states[0], True),
                    _stacked([one.keep_cells for one in _framed(frames)], states[0], False),
                )
            return _Result(network.decode(edited)), seen.maps(width, height)

    def _made(
        self,
        values: Any,
        frame: Frame,
        looked: Looked,
        blackened: bool,
        more: dict[str, Any] | None = None,
    ) -> Edit | Refused:
        (one,) = _framed([frame])
        settings = self.settings
        facts = {key: getattr(settings, key) for key in ("steps", "skip", "guidance")}
        facts |= one.told | ({"pasted": True} if one.original is not None else {})
        return super()._made(values, frame, looked, blackened, {**(more or {}), "radedit": facts})


def _framed(frames: Sequence[Frame]) -> list[Framed]:
    found = [one for one in frames if isinstance(one, Framed)]
    assert len(found) == len(frames)
    return found


def _stacked(masks: Sequence[Any], like: Tensor, otherwise: bool) -> Tensor | None:
    """The masks of a batch as one tensor; `otherwise` stands for one that is not there."""
    import torch

    if all(one is None for one in masks):
        return None
    cells = tuple(like.shape[-2:])
    rows = [torch.full(cells, otherwise) if one is None else torch.from_numpy(one) for one in masks]
    return torch.stack(rows)[:, None].to(like.device)

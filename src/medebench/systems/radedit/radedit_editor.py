"""RadEdit (Pérez-García et al., 2024) as an editor, on any text-to-image pipeline over latents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from medebench.errors import NotReadyError
from medebench.quiet import quiet
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor, as_seen
from medebench.systems.diffusion.model_frame import Frame
from medebench.systems.radedit import radedit_weights
from medebench.systems.radedit.framed_masks import Framed, framed
from medebench.systems.radedit.mask_sources import Sources
from medebench.systems.radedit.radedit_settings import CAPTION, RadEditSettings
from medebench.systems.request import Refused, Request

if TYPE_CHECKING:
    from torch import Tensor

    from medebench.systems.diffusion.attention_watch import Looked
    from medebench.systems.diffusion.pipeline_weights import Weights
    from medebench.systems.radedit.latent_network import Network


class RadEdit(DiffusionEditor):
    """Inverts the picture, then denoises it: the prompt acts under the edit mask alone.

    Cases are told what the picture shows after the edit. A batch is edited together; each of its
    pictures has its own seed, masks and texts.
    """

    summary = "RadEdit: text acts under an edit mask, a keep mask stays as it is"
    Settings = RadEditSettings
    sees: tuple[str, ...] = ("roi", "keep")
    _accept = ("prompt",)
    _held = (*DiffusionEditor._held, "_network")
    needs = "weights of a text-to-image model; a GPU for all but small ones"
    example = f"radedit:{radedit_weights.RADEDIT},skip=0.3"

    settings: RadEditSettings

    def __init__(self, settings: RadEditSettings) -> None:
        super().__init__(settings)
        shown = {"both": ("roi", "keep"), "none": ()}.get(settings.masks, ("roi",))
        # Which masks it is shown is a matter of settings.
        self.sees = (*shown, *((CAPTION,) if settings.base == CAPTION else ()))
        self._sources = Sources(settings)

    def problems(self) -> list[str]:
        if not radedit_weights.is_published(self.settings.model):
            return [*super().problems(), *self._sources.problems()]
        if found := radedit_weights.problems(self.settings.download):
            return [*found, *self._sources.problems()]
        if (weights := radedit_weights.weights()) is None:  # to be fetched
            return self._sources.problems()
        return type(self)(self.settings.model_copy(update={"model": str(weights.path)})).problems()

    def identity(self) -> str:
        return ", ".join(filter(None, [super().identity(), self._sources.identity()]))

    def prepare(self) -> None:
        with self._lock:
            self._network.path(self.settings.steps, *[self.settings.size or self._loaded.size] * 2)

    @cached_property
    def _weights(self) -> Weights:
        if radedit_weights.is_published(self.settings.model):
            if found := radedit_weights.weights(self.settings.download):
                return found
            raise NotReadyError("\n".join(radedit_weights.problems(self.settings.download)))
        return super()._weights

    @cached_property
    def _network(self) -> Network:
        from medebench.systems.radedit.pipeline_kinds import network_of

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

        from medebench.systems.radedit.inversion import denoising, draw_states, invert

        network, settings = self._network, self.settings
        pictures = as_seen(requests, frames)
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

                *_, edited = denoising(
                    inverted,
                    unseen,
                    partial(network.predict, text=told),
                    settings.guidance,
                    _stacked([one.edit_cells for one in _framed(frames)], states[0], True),
                    _stacked([one.keep_cells for one in _framed(frames)], states[0], False),
                )
            # What the family expects of a pipeline's call.
            return SimpleNamespace(images=network.decode(edited)), seen.maps(width, height)

    def _told(self, frame: Frame) -> dict[str, Any]:
        (one,) = _framed([frame])
        settings = self.settings
        facts = {key: getattr(settings, key) for key in ("steps", "skip", "guidance")}
        facts |= one.told | ({"pasted": True} if one.original is not None else {})
        return {"radedit": facts}


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

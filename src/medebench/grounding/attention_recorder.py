"""The attention that a model pays to one word while it edits.

    with record(pipe, [find_token(pipe, prompt, concept)]) as recorder:
        images = pipe(prompt, image=picture).images
    [found] = recorder.maps(height, width)

It only listens: hooks on the layers' projections hand over the queries and keys that the model
computes anyway. Beside the model's own attention, which is left alone, the softmax weight of one
text token is computed for every place in the picture. So the images are those of an unrecorded
run, bit for bit. One float32 map per layer is kept and added to: memory does not grow with the
steps.

What is recorded: in U-Nets the cross-attention, whose keys are the text; in transformers the joint
attention from the picture being made to the text, normalised over the text's keys alone. So both
kinds are the same quantity (of the attention paid to the text, the share of this token), at a
fraction of what the full joint attention would cost. Only guidance's conditional branch counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import one_line
from medebench.grounding.concept_tokens import Token
from medebench.grounding.denoiser_layers import Reader, Sight, arguments, column, reader_of
from medebench.metrics.metric import Undefined

if TYPE_CHECKING:
    from torch import Tensor, nn

_CANNOT = "this pipeline's attention cannot be read: "


@dataclass(frozen=True)
class AttentionMap:
    """Where one picture's model looked for one word: 0 least, 1 most."""

    map: NDArray[np.float32]
    concept: str
    token: str
    #: How many layers and how many passes of the denoiser (steps) were averaged.
    layers: int
    calls: int

    def crop(self, rows: slice, columns: slice) -> AttentionMap:
        """A part (the right half of a diptych), spread over 0 to 1 again."""
        return replace(self, map=_spread(self.map[rows, columns]))


def can_record(pipe: Any) -> str | None:
    """None, or why this pipeline's attention cannot be read; editing with it works regardless."""
    try:
        reader_of(pipe)
    except Undefined as reason:
        return f"{_CANNOT}{reason}"
    return None


def record(
    pipe: Any,
    tokens: Sequence[Token | int],
    *,
    conditional: int | None = None,
    layers: str | None = None,
) -> Recorder:
    """A recorder for one call of `pipe` with one token for each prompt of the batch.

    `conditional` says which of guidance's branches is the text's where the pipeline puts them into
    one batch (known for InstructPix2Pix: 0 of 3, and for Stable Diffusion: 1 of 2). `layers` is a
    regular expression that the names of the layers must contain; all of them are recorded without.
    Raises `Undefined` where `can_record` gives a reason.
    """
    try:
        denoiser, reader = reader_of(pipe)
    except Undefined as reason:
        raise Undefined(f"{_CANNOT}{reason}") from None
    wanted = {
        name: layer
        for name, layer in reader.layers.items()
        if layers is None or re.search(layers, name)
    }
    if not wanted:
        raise Undefined(f"{_CANNOT}no layer's name matches '{layers}'")
    if conditional is None and "InstructPix2Pix" in type(pipe).__name__:
        conditional = 0
    asked = [Token(token) if isinstance(token, int) else token for token in tokens]
    return Recorder(denoiser, reader, wanted, asked, conditional)


class Recorder:
    """Adds up, while its `with` block lasts, what `record` promises; then gives the maps."""

    def __init__(
        self,
        denoiser: nn.Module,
        reader: Reader,
        layers: dict[str, nn.Module],
        tokens: Sequence[Token],
        conditional: int | None,
    ) -> None:
        self._denoiser = denoiser
        self._reader = reader
        self._layers = layers
        self._tokens = list(tokens)
        self._conditional = conditional
        self._hooks = ExitStack()
        self._sums: dict[str, Tensor] = {}
        self._heard: dict[tuple[str, str], Tensor] = {}
        self._places: list[int] | None = None
        self._first_text: Tensor | None = None
        self._rows: slice | None = None  # None: this pass is not recorded
        self._paused = False
        self._problem: str | None = None
        self.calls = 0

    def __enter__(self) -> Recorder:
        with ExitStack() as hooks:
            begins = self._denoiser.register_forward_pre_hook(self._begin, with_kwargs=True)
            hooks.callback(begins.remove)
            for name, layer in self._layers.items():
                for role, projection in zip("qk", self._reader.listens(layer), strict=True):
                    hooks.callback(projection.register_forward_hook(self._hear(name, role)).remove)
                finishes = layer.register_forward_hook(self._finish(name), with_kwargs=True)
                hooks.callback(finishes.remove)
            self._hooks = hooks.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._hooks.close()
        self._heard.clear()
        self._first_text = None
        self._rows = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Denoiser passes in here are not recorded (for your own unconditional pass)."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    @property
    def nbytes(self) -> int:
        """What the running sums take, in bytes."""
        return sum(total.nbytes for total in self._sums.values())

    def layer_means(self) -> dict[str, NDArray[np.float32]]:
        """The mean over heads and steps by layer: (batch, h, w), at the layer's own size."""
        if self._problem is not None:
            raise Undefined(_CANNOT + self._problem)
        if not self._sums:
            raise Undefined("the model was not run while its attention was recorded")
        return {name: (total / self.calls).cpu().numpy() for name, total in self._sums.items()}

    def maps(self, height: int, width: int) -> list[AttentionMap]:
        """One map for each token: layers brought to height x width and averaged, then min-max."""
        import torch
        from torch.nn.functional import interpolate

        means = self.layer_means()
        # Interpolation is linear: layers of one size are added up before it.
        sizes: dict[tuple[int, ...], Tensor] = {}
        for values in means.values():
            layer = torch.from_numpy(values)
            sizes[values.shape] = sizes[values.shape] + layer if values.shape in sizes else layer
        total = torch.zeros(len(self._tokens), height, width)
        for layer in sizes.values():
            total += interpolate(layer[None], (height, width), mode="bilinear")[0]
        return [
            AttentionMap(_spread(mean), token.concept, token.text, len(means), self.calls)
            for token, mean in zip(self._tokens, (total / len(means)).numpy(), strict=True)
        ]

    def _begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A pass of the denoiser begins: is it the conditional one, and in which rows?"""
        self._rows = None
        if self._paused or self._problem is not None:
            return
        try:
            call = arguments(module, args, kwargs)
            text = call["encoder_hidden_states"]
            branches, rest = divmod(len(text), len(self._tokens))
            if rest or not branches:
                raise Undefined(f"{len(text)} rows for {len(self._tokens)} prompts")
            branch = self._branch(branches)
            # Transformers run guidance as a second pass, with another text, after the first.
            if not self._reader.rows_hold_branches and not self._is_first(text):
                return
            self._reader.begin(call)
            if self._places is None:
                self._places = self._resolve(len(text))
            self._rows = slice(branch * len(self._tokens), (branch + 1) * len(self._tokens))
            self.calls += 1
        except Exception as error:  # the edit goes on
            self._fail(error)

    def _branch(self, branches: int) -> int:
        if branches == 1:
            return 0
        if self._conditional is not None and self._conditional < branches:
            return self._conditional
        if branches == 2 and self._conditional is None and self._reader.rows_hold_branches:
            return 1
        raise Undefined(f"it is unknown which of its {branches} guidance branches reads the text")

    def _is_first(self, text: Tensor) -> bool:
        if self._first_text is None:
            self._first_text = text
        same = text.data_ptr() == self._first_text.data_ptr()
        return bool(same and text.shape == self._first_text.shape)

    def _resolve(self, rows: int) -> list[int]:
        places = []
        for token, length in zip(self._tokens, self._reader.lengths(rows), strict=False):
            place = token.index + length if token.index < 0 else token.index
            if not 0 <= place < length:
                raise Undefined(f"token {token.index} of a text of {length} tokens")
            places.append(place)
        return places

    def _hear(self, name: str, role: str) -> Callable[..., None]:
        def hook(_module: nn.Module, _args: tuple[Any, ...], output: Tensor) -> None:
            if self._rows is not None:
                self._heard[name, role] = output

        return hook

    def _finish(self, name: str) -> Callable[..., None]:
        def hook(
            layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], _output: object
        ) -> None:
            if self._rows is None or self._places is None:
                return
            try:
                if (name, "q") not in self._heard or (name, "k") not in self._heard:
                    raise Undefined(f"{name} computes its attention in its own way")
                heard = self._heard.pop((name, "q")), self._heard.pop((name, "k"))
                call = arguments(layer, args, kwargs)
                self._add(name, self._reader.see(layer, call, heard, self._rows), self._places)
            except Exception as error:  # the edit goes on
                self._fail(error)

        return hook

    def _add(self, name: str, sight: Sight, places: Sequence[int]) -> None:
        import torch

        with torch.no_grad():
            weights = column(sight, places).reshape(len(places), *sight.grid)
            total = self._sums.get(name)
            if total is None:
                self._sums[name] = weights
            elif total.shape == weights.shape:
                total += weights
            else:
                raise Undefined("the image size changed while it was being made")

    def _fail(self, error: Exception) -> None:
        said = str(error) if isinstance(error, Undefined) else f"{type(error).__name__}: {error}"
        self._problem = one_line(said)
        self._rows = None
        self._heard.clear()


def _spread(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Min-max to [0, 1]; a map that is the same everywhere becomes 0."""
    if not np.isfinite(values).all():
        raise Undefined("the attention is not finite (overflow in half precision?)")
    low, high = float(values.min()), float(values.max())
    return ((values - low) / (high - low if high > low else 1.0)).astype(np.float32)

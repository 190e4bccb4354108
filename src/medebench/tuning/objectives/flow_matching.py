"""What transformers trained by flow matching share: from a batch and a draw to the loss.

A picture's latents x and noise e are joined by a straight line; at time s the model sees
(1 - s) x + s e and is to say e - x. Times are drawn as the models' authors say they do it: the
logistic of a normal number, then moved towards noise by the pipeline's own shift, which for most
depends on the number of tokens. That some samplers stretch the end of their schedule is left alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.tuning.objectives.loss_weights import cell_weights, weighted_error
from medebench.tuning.objectives.objective import Batch, Draw, Objective
from medebench.tuning.objectives.remembered import Remembered
from medebench.tuning.pairs import Pixels, TrainPair
from medebench.tuning.train_settings import TrainSettings

if TYPE_CHECKING:
    import torch

#: The encoding of one text: tensors without a dimension for the batch, by name.
Text = Mapping[str, "torch.Tensor"]

#: The layers of joint attention, of the picture's stream and of the text's.
ATTENTION = (
    *("to_q", "to_k", "to_v", "to_out.0"),
    *("add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"),
)
#: What a model distilled from guidance is told while it learns: that there is none, as in the
#: examples of diffusers.
_GUIDANCE = 1.0


class FlowMatching(Objective):
    part = "transformer"
    lora_targets: ClassVar[tuple[str, ...]] = ATTENTION

    def __init__(self, pipe: Any, settings: TrainSettings) -> None:
        super().__init__(pipe, settings)
        self._targets, self._inputs, self._texts = Remembered(), Remembered(), Remembered()

    @classmethod
    def problem(cls, index: dict[str, Any], settings: TrainSettings) -> str | None:
        scheduler = (index.get("scheduler") or ["", "FlowMatch"])[1]
        if "FlowMatch" not in str(scheduler):
            return f"its scheduler is a {scheduler}; trained are models of flow matching"
        return super().problem(index, settings)

    @property
    def without_text(self) -> str | None:
        """The text that guidance works against in the pipeline; None where it has none."""
        return None

    @abstractmethod
    def latents(self, pixels: Pixels) -> torch.Tensor:
        """A picture to be made, as the transformer's latents (1, channels, height, width)."""

    @abstractmethod
    def shown(self, pixels: Pixels) -> torch.Tensor:
        """An input picture, in the size and form in which the pipeline shows it."""

    @abstractmethod
    def encode(self, text: str, pixels: Pixels) -> Text:
        """A text as the pipeline gives it to the transformer."""

    @abstractmethod
    def shift(self, target: torch.Tensor) -> float:
        """How far the pipeline moves times towards noise, for latents of this size."""

    @abstractmethod
    def velocity(
        self,
        noisy: torch.Tensor,
        times: torch.Tensor,
        condition: torch.Tensor,
        texts: Sequence[Text],
    ) -> torch.Tensor:
        """What the transformer says, in the shape of `noisy`."""

    def batch(self, pairs: Sequence[TrainPair], generator: torch.Generator) -> Batch:
        import torch

        with torch.no_grad():
            target = [self._targets.picture(pair.target, self.latents) for pair in pairs]
            condition = [self._inputs.picture(pair.previous, self.shown) for pair in pairs]
            texts = {"given": [self._text(pair.prompt, pair.previous) for pair in pairs]}
            blank = self.without_text
            if blank is not None and self.settings.no_text > 0:
                texts["blank"] = [self._text(blank, pair.previous) for pair in pairs]
        made = torch.cat(target).float()
        height, width = made.shape[-2:]
        weight = cell_weights(pairs, height, width, self.settings.roi_weight)
        return Batch(made, torch.cat(condition).float(), texts, weight.to(made.device))

    def draw(self, batch: Batch, generator: torch.Generator) -> Draw:
        import torch

        count, device = len(batch.target), batch.target.device
        noise = torch.randn(batch.target.shape, generator=generator)
        times = self._shifted(torch.randn(count, generator=generator).sigmoid(), batch.target)
        chance = torch.rand(count, generator=generator)
        no_text = chance < (self.settings.no_text if "blank" in batch.text else 0.0)
        no_image = torch.zeros(count, dtype=torch.bool)
        return Draw(*(one.to(device) for one in (noise, times, no_text, no_image)))

    def loss(self, batch: Batch, draw: Draw) -> torch.Tensor:
        target, noise = batch.target, draw.noise
        at = draw.times[:, None, None, None]
        given = batch.text["given"]
        blank = batch.text.get("blank", given)
        texts = [blank[row] if no_text else given[row] for row, no_text in enumerate(draw.no_text)]
        noisy = (1 - at) * target + at * noise
        said = self.velocity(noisy, draw.times, batch.condition, texts)
        return weighted_error(said, noise - target, batch.weight)

    def guidance(self, count: int) -> torch.Tensor | None:
        """What a guidance-distilled transformer is told; None for others."""
        import torch

        if not self.config.get("guidance_embeds"):
            return None
        return torch.full((count,), _GUIDANCE, device=self.device)

    @property
    def config(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self.pipe, self.part).config
        return found

    @property
    def device(self) -> torch.device:
        found: torch.device = self.pipe._execution_device
        return found

    @property
    def dtype(self) -> torch.dtype:
        """Of the transformer's own weights."""
        found: torch.dtype = getattr(self.pipe, self.part).dtype
        return found

    def stack(self, texts: Sequence[Text], name: str) -> torch.Tensor:
        """The tensors called so as one; shorter ones are filled up with zeros."""
        from torch.nn.utils.rnn import pad_sequence

        rows = [text[name].to(self.device, self.dtype) for text in texts]
        return pad_sequence(rows, batch_first=True)

    def _text(self, text: str, pixels: Pixels) -> Text:
        return self._texts.text(text, lambda text: self._kept(text, pixels))

    def _kept(self, text: str, pixels: Pixels) -> Text:
        """Kept in main memory: a long text takes many megabytes."""
        return {name: value.cpu() for name, value in self.encode(text, pixels).items()}

    def _shifted(self, times: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        scheduler = self.pipe.scheduler
        if scheduler.config.get("use_dynamic_shifting"):
            moved: torch.Tensor = scheduler.time_shift(self.shift(target), 1.0, times)
            return moved
        fixed = float(scheduler.config.get("shift", 1.0))
        return fixed * times / (1 + (fixed - 1) * times)


def token_shift(scheduler: Any, tokens: int) -> float:
    """The shift of FLUX.1 and Qwen-Image: on a line through two numbers of tokens."""
    config = scheduler.config
    few, many = config.get("base_image_seq_len", 256), config.get("max_image_seq_len", 4096)
    low, high = config.get("base_shift", 0.5), config.get("max_shift", 1.15)
    return float(low + (high - low) * (tokens - few) / (many - few))

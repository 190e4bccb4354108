"""Metrics that rest on a network or on fitted parameters: by which name, and who makes them.

`name` or `name:which`, where `which` is a file of weights, or for the CLIP family an encoder: a
known name, a hub id or a folder. What is asked for as `isim:biomedclip` is called
`isim_biomedclip` in ledgers and tables, and is found under that name as well.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, cast

from medebench.metrics.metric import BatchMetric, MetricInfo, SetMetric
from medebench.outputs import Part

_PERCEPTUAL = "medebench.metrics.perceptual.lpips_metrics"
_REALISM = "medebench.metrics.realism.set_metrics"
_SEMANTIC = "medebench.metrics.semantic"
_REWARD = "medebench.metrics.reward.reward_metrics"
_QUALITY = "medebench.metrics.quality.quality_metrics"
_BERTSCORE = "medebench.metrics.text.bertscore"
_COSINE = "medebench.metrics.image_cosine"
_CLINICAL = "medebench.metrics.text.clinical_scorers"

#: Name -> module with `info(name, which)` and `make(name, which, device, batch)`.
_ALIGNED = ("isim", "talign_prompt", "talign_description", "dalign_prompt", "dalign_description")
LEARNED = {
    "lpips_alex": _PERCEPTUAL,
    "lpips_vgg": _PERCEPTUAL,
    "lpips_alex_published": _PERCEPTUAL,
    "lpips_alex_roi": _PERCEPTUAL,
    "lpips_vgg_roi": _PERCEPTUAL,
    "fid_inception": _REALISM,
    "kid_inception": _REALISM,
    **dict.fromkeys(_ALIGNED, _SEMANTIC),
    **dict.fromkeys((f"{name}_published" for name in _ALIGNED), _SEMANTIC),
    "edit_score": _SEMANTIC,
    "imagereward_prompt": _REWARD,
    "imagereward_description": _REWARD,
    "niqe": _QUALITY,
    "brisque": _QUALITY,
    "bertscore": _BERTSCORE,
    "bertscore_rescaled": _BERTSCORE,
    "raddino_cosine": _COSINE,
    "medimageinsight_cosine": _COSINE,
    "lpips_medgen": "medebench.metrics.medgen.published_lpips",
    "bertscore_medgen": "medebench.metrics.medgen.published_bertscore",
    "raddino_medgen": _COSINE,
    "mii_medgen": _COSINE,
    "radgraph_xl": _CLINICAL,
    "chexbert_f1": _CLINICAL,
    "ratescore": _CLINICAL,
    "green": _CLINICAL,
}
_OF_TEXTS = {name for name, module in LEARNED.items() if module in (_BERTSCORE, _CLINICAL)}
_OF_TEXTS.add("bertscore_medgen")
#: The ones that are named together with their encoder; a name that begins another comes after it.
_FAMILIES = (_SEMANTIC, _BERTSCORE)
ENCODED = sorted((name for name, module in LEARNED.items() if module in _FAMILIES), reverse=True)


@dataclass(frozen=True)
class Learned:
    """A learned metric that was asked for; nothing is read before `make`."""

    name: str
    which: str | None

    @property
    def of(self) -> Part:
        """The part of an output that it is about."""
        return "text" if self.name in _OF_TEXTS else "image"

    def info(self) -> MetricInfo:
        """What its numbers mean; needs no weights."""
        return cast(MetricInfo, self._module().info(self.name, self.which))

    def make(self, device: str = "auto", batch: int | None = None) -> BatchMetric | SetMetric:
        made = self._module().make(self.name, self.which, device, batch)
        return cast("BatchMetric | SetMetric", made)

    def _module(self) -> Any:
        return importlib.import_module(LEARNED[self.name])


def find_learned(text: str) -> Learned | None:
    """`isim`, `isim:biomedclip` or `isim_biomedclip`; None if it is not a learned metric.

    >>> find_learned("talign_prompt_clip-vit-l14")
    Learned(name='talign_prompt', which='clip-vit-l14')
    >>> find_learned("isim_published_clip-vit-l14")
    Learned(name='isim_published', which='clip-vit-l14')
    """
    name, _, which = text.partition(":")
    if name in LEARNED:
        return Learned(name, which or None)
    for family in ENCODED:
        if text.startswith(f"{family}_"):
            return Learned(family, text[len(family) + 1 :])
    return None

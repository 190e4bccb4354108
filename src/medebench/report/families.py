"""Learned metrics as a report shows them: short names, and their rows in the paper.

What their numbers mean is told by the metrics themselves; nothing here needs weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from medebench.metrics.learned import find_learned

#: The encoder of the paper.
PUBLISHED_ENCODER = "clip-vit-l14"
#: LPIPS as the paper's script computed it.
PUBLISHED_LPIPS = "lpips_alex_published"


@dataclass(frozen=True)
class Family:
    name: str
    #: Which of several of this name: "prompt", "description", the network.
    kind: str = ""
    decimals: int = 3
    #: Its row in the paper's Table 3, if it or a near relative is there.
    row: str = ""
    #: Whether it is computed as the paper did, given the paper's encoder.
    exact: bool = False
    #: Why nobody should be called the best by it, if so.
    unranked: str = ""

    @property
    def label(self) -> str:
        return f"{self.name} {self.kind}".rstrip()


#: Measured on the 63 outputs of the excerpt, docs/metrics.md.
_BLIND = (
    "no best is marked: on real outputs it does not follow the judge’s VQ (ρ {}); look at the "
    "inputs’ own value"
)
FAMILIES = {
    "lpips_alex": Family("LPIPS", "Alex", row="LPIPS"),
    "lpips_vgg": Family("LPIPS", "VGG", row="LPIPS"),
    PUBLISHED_LPIPS: Family("LPIPS", "Alex published", row="LPIPS", exact=True),
    "lpips_alex_roi": Family("LPIPS", "Alex in ROI"),
    "lpips_vgg_roi": Family("LPIPS", "VGG in ROI"),
    "isim": Family("ISim", row="ISim"),
    "talign_prompt": Family("TAlign", "prompt", row="TAlign_prompt"),
    "talign_description": Family("TAlign", "description", row="TAlign_description"),
    "dalign_prompt": Family("DAlign", "prompt", row="DAlign_prompt"),
    "dalign_description": Family("DAlign", "description", row="DAlign_description"),
    "isim_published": Family("ISim", "published", row="ISim", exact=True),
    "talign_prompt_published": Family(
        "TAlign", "prompt published", row="TAlign_prompt", exact=True
    ),
    "talign_description_published": Family(
        "TAlign", "description published", row="TAlign_description", exact=True
    ),
    "dalign_prompt_published": Family(
        "DAlign", "prompt published", row="DAlign_prompt", exact=True
    ),
    "dalign_description_published": Family(
        "DAlign", "description published", row="DAlign_description", exact=True
    ),
    "edit_score": Family("Edit score"),
    "imagereward_prompt": Family("ImageReward", "prompt", 2, "ImageReward_prompt", True),
    "imagereward_description": Family(
        "ImageReward", "description", 2, "ImageReward_description", True
    ),
    "niqe": Family("NIQE", decimals=2, unranked=_BLIND.format("−0.02")),
    "brisque": Family("BRISQUE", decimals=1, unranked=_BLIND.format("−0.10")),
    "fid_inception": Family("FID", decimals=2),
    "kid_inception": Family("KID", decimals=4),
}
_FRAMED = (
    "The whole picture is seen, squashed into the encoder’s frame if its own preparation would "
    "cut parts off; published: squashed without antialiasing, as in the paper’s script."
)
#: By name: how the numbers come about, for the methods.
DEFINITIONS = {
    "LPIPS": "Output and reference go through a network trained on photographs; the squared "
    "differences of their features, weighted by what people call similar, are averaged over the "
    "places that count and added up over five layers.",
    "ISim": f"Cosine of the encoder’s vectors of output and reference. {_FRAMED}",
    "TAlign": f"Cosine of the encoder’s vectors of output and text. {_FRAMED}",
    "DAlign": "Cosine of the way from previous image to output, as the difference of their unit "
    f"vectors, and the vector of the text; undefined where nothing changed. {_FRAMED}",
    "Edit score": "Cosine of the way from previous image to output and the way from caption to "
    "prompt, as differences of the encoder’s unit vectors; undefined where either is no longer "
    "than rounding.",
    "ImageReward": "What a network says about output and text that was trained on the choices of "
    "people between generated pictures; without bounds, about −2 to 2.",
    "NIQE": "Distance of the statistics of local contrast in the output from those of sharp "
    "photographs of everyday things; no reference is looked at.",
    "BRISQUE": "What a regression on statistics of local contrast says that was fitted to "
    "people’s opinions of distorted photographs; no reference is looked at.",
    "FID": "Fréchet distance of two normal distributions fitted to the Inception vectors of the "
    "outputs and of the references. With few pictures it is too high, the more the fewer. The "
    "interval is Student’s, with a standard error from the jackknife over source images.",
    "KID": "Squared maximum mean discrepancy, with a cubic kernel, of the Inception vectors of the "
    "outputs and of the references, over pairs of pictures from different source images. It is "
    "right on average at any size, and may come out below 0 where both sets are alike. The "
    "interval is Student’s, with a standard error from the jackknife over source images.",
}


def family_of(metric: str) -> tuple[str, str] | None:
    """(family, encoder) of a learned metric; the encoder is empty where the family names it.

    >>> family_of("isim_biomedclip")
    ('isim', 'biomedclip')
    """
    found = find_learned(metric)
    return None if found is None else (found.name, found.which or "")


def is_published(family: str, encoder: str) -> bool:
    """Whether this very variant is the one that the paper compared with people."""
    known = family in FAMILIES and FAMILIES[family].exact
    return known and encoder in ("", PUBLISHED_ENCODER)

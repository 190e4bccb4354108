"""What the convolutions of FID's Inception are called by its two publishers.

pytorch-fid and torch-fidelity use torchvision's names, the TorchScript file those of the first
TensorFlow graph. Here they go by torchvision's.
"""

from __future__ import annotations

from itertools import chain


def _numbered(branch: str, tower: str, count: int) -> dict[str, str]:
    """A chain: branch_1, branch_2, ... is tower.conv, tower.conv_1, ..."""
    ends = ["conv", *(f"conv_{number}" for number in range(1, count))]
    return {f"{branch}_{n}": f"{tower}.{end}" for n, end in enumerate(ends, start=1)}


_SMALL = {
    "branch1x1": "conv",
    **_numbered("branch5x5", "tower", 2),
    **_numbered("branch3x3dbl", "tower_1", 3),
    "branch_pool": "tower_2.conv",
}
_SMALL_TO_MIDDLE = {"branch3x3": "conv", **_numbered("branch3x3dbl", "tower", 3)}
_MIDDLE = {
    "branch1x1": "conv",
    **_numbered("branch7x7", "tower", 3),
    **_numbered("branch7x7dbl", "tower_1", 5),
    "branch_pool": "tower_2.conv",
}
_MIDDLE_TO_LARGE = {
    **_numbered("branch3x3", "tower", 2),
    **_numbered("branch7x7x3", "tower_1", 4),
}
_LARGE = {
    "branch1x1": "conv",
    "branch3x3_1": "tower_conv",
    "branch3x3_2a": "tower_mixed_conv",
    "branch3x3_2b": "tower_mixed_conv_1",
    "branch3x3dbl_1": "tower_1_conv",
    "branch3x3dbl_2": "tower_1_conv_1",
    "branch3x3dbl_3a": "tower_1_mixed_conv",
    "branch3x3dbl_3b": "tower_1_mixed_conv_1",
    "branch_pool": "tower_2_conv",
}
_STEM = {
    "Conv2d_1a_3x3": "conv",
    "Conv2d_2a_3x3": "conv_1",
    "Conv2d_2b_3x3": "conv_2",
    "Conv2d_3b_1x1": "conv_3",
    "Conv2d_4a_3x3": "conv_4",
}
_BLOCKS = {
    "Mixed_5b": ("mixed", _SMALL),
    "Mixed_5c": ("mixed_1", _SMALL),
    "Mixed_5d": ("mixed_2", _SMALL),
    "Mixed_6a": ("mixed_3", _SMALL_TO_MIDDLE),
    "Mixed_6b": ("mixed_4", _MIDDLE),
    "Mixed_6c": ("mixed_5", _MIDDLE),
    "Mixed_6d": ("mixed_6", _MIDDLE),
    "Mixed_6e": ("mixed_7", _MIDDLE),
    "Mixed_7a": ("mixed_8", _MIDDLE_TO_LARGE),
    "Mixed_7b": ("mixed_9", _LARGE),
    "Mixed_7c": ("mixed_10", _LARGE),
}

#: torchvision's name of each convolution, and that in the TorchScript file.
NAMES: dict[str, str] = dict(
    chain(
        _STEM.items(),
        (
            (f"{block}.{branch}", f"{mixed}.{tower}")
            for block, (mixed, branches) in _BLOCKS.items()
            for branch, tower in branches.items()
        ),
    )
)

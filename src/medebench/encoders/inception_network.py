"""The Inception of 2015-12-05 up to its last pooling, as FID uses it: 2048 numbers a picture.

Unlike torchvision's Inception its average pooling leaves the border's zeros out, and its very last
block takes maxima where the block before takes means. So is the graph that FID is defined with.

Batch normalisation is folded into the convolutions and pictures lie channels last; the numbers are
the same to about 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from medebench.encoders.inception_weights import FoldedConvolution


class Convolution(nn.Module):  # type: ignore[misc]
    def __init__(self, given: FoldedConvolution, stride: int, same: bool) -> None:
        super().__init__()
        # Fast where kernels lie as the pictures do.
        kernel = torch.from_numpy(given.kernel).to(memory_format=torch.channels_last)
        self.kernel = nn.Parameter(kernel, requires_grad=False)
        self.bias = nn.Parameter(torch.from_numpy(given.bias), requires_grad=False)
        self.stride = stride
        height, width = given.kernel.shape[2:]
        self.padding = (height // 2, width // 2) if same else (0, 0)

    def forward(self, x: Tensor) -> Tensor:
        made = functional.conv2d(x, self.kernel, self.bias, self.stride, self.padding)
        return functional.relu_(made)


class Fork(nn.Module):  # type: ignore[misc]
    """Branches that see the same; what they make lies side by side, as channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Network(nn.Module):  # type: ignore[misc]
    """Pictures (n, 3, 299, 299) in -1 ... 1 to vectors (n, 2048)."""

    def __init__(self, weights: Mapping[str, FoldedConvolution]) -> None:
        super().__init__()
        self._weights = weights
        halve = nn.MaxPool2d(3, 2)
        self.layers = nn.Sequential(
            self._conv("Conv2d_1a_3x3", stride=2),
            self._conv("Conv2d_2a_3x3", same=False),
            self._conv("Conv2d_2b_3x3"),
            halve,
            self._conv("Conv2d_3b_1x1"),
            self._conv("Conv2d_4a_3x3", same=False),
            halve,
            *(self._mixed(f"Mixed_5{one}", branch5x5=2, branch3x3dbl=3) for one in "bcd"),
            Fork(
                self._conv("Mixed_6a.branch3x3", stride=2),
                self._halving("Mixed_6a.branch3x3dbl", 3),
                halve,
            ),
            *(self._mixed(f"Mixed_6{one}", branch7x7=3, branch7x7dbl=5) for one in "bcde"),
            Fork(
                self._halving("Mixed_7a.branch3x3", 2),
                self._halving("Mixed_7a.branch7x7x3", 4),
                halve,
            ),
            self._large("Mixed_7b", _mean_around()),
            self._large("Mixed_7c", nn.MaxPool2d(3, 1, 1)),
        )
        del self._weights

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).mean((2, 3))

    def _mixed(self, block: str, **chains: int) -> Fork:
        return Fork(
            self._conv(f"{block}.branch1x1"),
            *(self._chain(f"{block}.{branch}", count) for branch, count in chains.items()),
            nn.Sequential(_mean_around(), self._conv(f"{block}.branch_pool")),
        )

    def _large(self, block: str, pool: nn.Module) -> Fork:
        return Fork(
            self._conv(f"{block}.branch1x1"),
            nn.Sequential(
                self._chain(f"{block}.branch3x3", 1),
                Fork(*(self._conv(f"{block}.branch3x3_2{side}") for side in "ab")),
            ),
            nn.Sequential(
                self._chain(f"{block}.branch3x3dbl", 2),
                Fork(*(self._conv(f"{block}.branch3x3dbl_3{side}") for side in "ab")),
            ),
            nn.Sequential(pool, self._conv(f"{block}.branch_pool")),
        )

    def _chain(self, branch: str, count: int) -> nn.Sequential:
        return nn.Sequential(*(self._conv(f"{branch}_{n}") for n in range(1, count + 1)))

    def _halving(self, branch: str, count: int) -> nn.Sequential:
        last = self._conv(f"{branch}_{count}", stride=2)
        return nn.Sequential(*self._chain(branch, count - 1), last)

    def _conv(self, name: str, stride: int = 1, same: bool = True) -> Convolution:
        """Over the border where the size stays the same, within it where it is halved."""
        return Convolution(self._weights[name], stride, same and stride == 1)


def _mean_around() -> nn.Module:
    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)

"""Where an output differs from its input, for any editor, including black boxes.

The output is first brought back to the input's frame, tone and sharpness, each only as far as that
explains the picture as a whole; what then still differs locally is the change. What explains the
whole is asked of the ROI's surroundings, so that no edit, however large, bends the frame it is
measured in. `docs/grounding.md` says why and where it fails. All lengths are shares of the width,
all differences CIE76 in Lab, and the work is done on pictures at most 256 pixels wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from medebench.grounding.frame_alignment import (
    STILL,
    Motion,
    Moved,
    bring_back,
    describe,
    find_motion,
)
from medebench.grounding.tone import shift_tone
from medebench.images.picture import Picture
from medebench.metrics.colour import COMPARED_WIDTH, Floats, lengths, small_lab, squares

Bools = NDArray[np.bool_]

#: A change is seeded where the difference is plain (`HIGH`) and grows to where it is visible
#: (`LOW`); about 2 is the least that a person sees side by side.
LOW, HIGH = 4.0, 8.0
#: What the quiet quarter of the picture shows is noise and raises both, but never beyond this.
MAX_NOISE = 6.0
#: Smaller changes, as a share of the frame, are specks.
MIN_AREA = 0.0005
#: Changes that lie wholly within this share of the longer side from the edge are not the edit:
#: editors pad to multiples of 16 or 64 and smear the last rows.
EDGE = 0.04
#: What lies closer to the ROI than this share of the width is the border of the edit: feathering
#: and softening reach there. Surroundings begin beyond it.
COLLAR = 0.03
#: Surroundings smaller than this share of the frame say nothing about it.
MIN_AROUND = 0.05
#: Where less than this share of the input's detail is recognisable, there is nothing to align.
MIN_KEPT = 0.15
#: A correction is believed if it lowers the typical difference to this share.
BETTER = 0.9
#: Where the surroundings differ by less than this on average, there is nothing to correct.
UNSEEN = 0.1
#: A shift of tone explains the whole picture if it leaves inside the ROI no more than this beyond
#: what it leaves around it, on average.
EXPLAINED = 2.0
#: Blurs tried on the input, in 256ths of the width; the negative one on the output.
BLURS = (-1.0, 1.0, 2.0, 4.0)

_SOFTEN = 1.0  # before comparing: compression, resampling
_COARSE = 8.0  # the coarsest detail by which a place is recognised
_WINDOW = 1.5  # over which differences are averaged: texture counts, single pixels do not
_SLIDE = 2  # how far a window may slide to find its like: residual misalignment
_CLOSE = 3  # gaps up to twice this are closed
_REACH = 5  # how far softening and window carry a strong difference beyond its border...
_TAIL = 0.2  # ...where it has fallen to this share
#: Share of white noise's variance that survives softening, over what a high pass sees of it.
_GRAIN = 0.15


@dataclass(frozen=True)
class Change:
    """What changed, on the grid of the previous image, and what was taken away as no change."""

    #: Local difference (CIE76) after all corrections; 0 where the output shows nothing.
    map: Floats
    #: Where it is plain and connected.
    region: Bools
    #: Mean shift of tone of the whole picture that was removed (CIE76).
    global_shift: float
    #: How the output was aligned.
    moved: Moved
    #: Blur found on the whole output, in 256ths of the width; negative: the output is sharper.
    blurred: float
    #: Share of the input's detail, around the ROI, that is still recognisable in its place.
    kept: float
    #: Fine detail of the output over the input's, outside the region and off the edge; what is
    #: added at the border of the ROI does not count. 1: as sharp as before.
    detail: float


@dataclass(frozen=True)
class _Pair:
    """Input and output made as alike as the corrections so far can make them."""

    before: Floats
    after: Floats
    seen: Bools
    #: Where the corrections are fitted and believed.
    around: Bools
    motion: Motion
    shift: Floats
    blurred: float
    off: float


def change_map(
    previous: Picture, output: Picture, data_range: int = 255, roi: Bools | None = None
) -> Change:
    """Compare an output with its input; both on one grid, in one depth.

    `roi` is where a change was asked for.
    """
    sharp, made = small_lab(previous, data_range), small_lab(output, data_range)
    unit = sharp.shape[1] / COMPARED_WIDTH
    before, after = _soften(sharp, unit), _soften(made, unit)
    around, border = inner(before.shape[:2]), np.zeros(before.shape[:2], np.bool_)
    if roi is not None:
        size = before.shape[1::-1]
        touched = cv2.resize(roi.astype(np.float32), size, interpolation=cv2.INTER_AREA)
        around = surroundings(touched > 0)
        border = _border(touched > 0.5)
    still = _pair(before, after, np.ones_like(around), around)
    pair, kept = still, 1.0
    if not enough(around):
        pass
    elif float(lengths(after - before)[around].mean()) <= UNSEEN:
        # A tone that only the ROI has is an edit of it.
        pair = replace(still, before=before, shift=np.zeros_like(before))
    else:
        pair = _align(before, after, still)
        kept = _recognised(before, pair.after, pair.seen & around, unit)
        if kept < MIN_KEPT:
            # Another picture: whatever tone or place would fit it best would be an accident.
            pair = replace(still, before=before, shift=np.zeros_like(before))
        else:
            pair = _match_sharpness(before, pair, unit)
    back, _ = bring_back(made, pair.motion)
    seen = np.asarray(ndimage.binary_erosion(pair.seen, iterations=2, border_value=1), np.bool_)
    squared = _slid(pair.before, pair.after, unit) - _GRAIN * _added_grain(sharp, back, unit)
    difference = np.where(seen, np.sqrt(np.maximum(squared, 0)), 0).astype(np.float32)
    region = _region(difference, seen)
    size = (previous.shape[1], previous.shape[0])
    plain = seen & ~region & inner(region.shape)
    detail = _detail(sharp, back, plain, unit)
    if detail > 1:
        # The new edges where an edit meets the rest are no noise.
        detail = _detail(sharp, back, plain & ~border, unit)
    return Change(
        np.asarray(cv2.resize(difference, size, interpolation=cv2.INTER_LINEAR), np.float32),
        cv2.resize(region.astype(np.float32), size, interpolation=cv2.INTER_LINEAR) > 0.5,
        float(lengths(pair.shift)[pair.seen & around if enough(around) else pair.seen].mean()),
        describe(pair.motion, before.shape[:2]),
        pair.blurred,
        kept,
        detail,
    )


def inner(shape: tuple[int, int]) -> Bools:
    """The frame without its edge, where padding and smeared rows are."""
    height, width = shape
    margin = round(EDGE * max(height, width))
    frame = np.zeros(shape, np.bool_)
    frame[margin : height - margin, margin : width - margin] = True
    return frame


def surroundings(roi: Bools) -> Bools:
    """What lies around the ROI: beyond the border of an edit, off the edge of the frame."""
    reach = max(1, round(COLLAR * roi.shape[1]))
    grown = cv2.dilate(roi.astype(np.uint8), _disc(reach))
    return np.asarray((grown == 0) & inner(roi.shape), np.bool_)


def _border(roi: Bools) -> Bools:
    """Where an edit of the ROI meets the rest."""
    disc, mask = _disc(max(1, round(COLLAR * roi.shape[1]))), roi.astype(np.uint8)
    return np.asarray(cv2.dilate(mask, disc) != cv2.erode(mask, disc), np.bool_)


def enough(around: Bools) -> bool:
    """Whether these surroundings are large enough to say anything."""
    return int(np.count_nonzero(around)) >= max(16, MIN_AROUND * around.size)


def _pair(
    before: Floats,
    after: Floats,
    seen: Bools,
    around: Bools,
    motion: Motion = STILL,
    blurred: float = 0.0,
) -> _Pair:
    """In one tone: that of the whole picture if it explains the whole, else of the surroundings."""
    trusted = seen & around
    tone = shift_tone(before, after, seen)
    if _off(tone, after, seen & ~around) > _off(tone, after, trusted) + EXPLAINED:
        tone = shift_tone(before, after, trusted) if enough(trusted) else before
    off = _off(tone, after, trusted)
    return _Pair(tone, after, seen, around, motion, tone - before, blurred, off)


def _off(before: Floats, after: Floats, where: Bools) -> float:
    """Mean difference; cut, so that a large edit does not outvote many small misfits."""
    if not where.any():
        return 0.0
    return float(np.minimum(lengths(after - before)[where], HIGH).mean())


def _align(before: Floats, after: Floats, best: _Pair) -> _Pair:
    """Tried on the whole, around the ROI, on the quietest part; believed by the surroundings."""
    quietest = 0.6
    for use in (best.seen, best.around, None):
        if use is None:
            # Without what was edited, which may have pulled the frame.
            off = lengths(best.after - best.before)
            trusted = best.seen & best.around
            use = trusted & (off <= np.quantile(off[trusted], quietest))
        motion = find_motion(before[..., 0], after[..., 0], use)
        if motion is None:
            continue
        back, seen = bring_back(after, motion)
        tried = _pair(before, back, seen, best.around, motion)
        if enough(seen & best.around) and tried.off < BETTER * best.off:
            best = tried
    return best


def _match_sharpness(before: Floats, best: _Pair, unit: float) -> _Pair:
    aligned = best
    for blur in BLURS:
        first = _soft(before, blur * unit) if blur > 0 else before
        after = aligned.after if blur > 0 else _soft(aligned.after, -blur * unit)
        tried = _pair(first, after, aligned.seen, aligned.around, aligned.motion, blur)
        if tried.off < BETTER * best.off:
            best = tried
    return best


def _slid(before: Floats, after: Floats, unit: float) -> Floats:
    """Squared difference over a small window, at the place nearby where it is least."""
    reach = max(1, round(_SLIDE * unit))
    height, width = before.shape[:2]
    wide = cv2.copyMakeBorder(before, reach, reach, reach, reach, cv2.BORDER_REPLICATE)
    best = np.full((height, width), np.inf, np.float32)
    for down in range(2 * reach + 1):
        for right in range(2 * reach + 1):
            there = squares(after - wide[down : down + height, right : right + width])
            np.minimum(best, _soft(there, _WINDOW * unit), out=best)
    return best


def _added_grain(before: Floats, after: Floats, unit: float) -> Floats:
    """How much more fine detail there is around a pixel than there was, squared."""
    first, second = (_soft(squares(_fine(one, unit)), 4 * unit) for one in (before, after))
    return np.asarray(np.maximum(second - first, 0), np.float32)


def _recognised(before: Floats, after: Floats, where: Bools, unit: float) -> float:
    """Share of the detailed places whose detail correlates (> 0.5): blind to tone and blur."""
    first, second = (
        _soft(picture[..., 0], unit) - _soft(picture[..., 0], _COARSE * unit)
        for picture in (before, after)
    )
    own, other, common = (
        _within(product, where, _COARSE * unit)
        for product in (first * first, second * second, first * second)
    )
    detailed = where & (own > 1.0)
    if np.count_nonzero(detailed) < 0.01 * detailed.size:
        return 1.0
    return float((common > 0.5 * np.sqrt(own * other + 0.01))[detailed].mean())


def _detail(before: Floats, after: Floats, where: Bools, unit: float) -> float:
    """Weighted median, by how much detail there is or was, of the local ratio of fine detail."""
    if not where.any():
        return 1.0
    first, second = (
        _within(np.square(_fine(one[..., 0], 1.5 * unit)), where, 4 * unit)[where]
        for one in (before, after)
    )
    # The constant keeps rounding to 8 bits from counting in flat pictures.
    ratios = (second.astype(np.float64) + 0.05) / (first + 0.05)
    order = np.argsort(ratios)
    weights = np.cumsum((first + second + 1e-9)[order])
    middle = int(np.searchsorted(weights, weights[-1] / 2))
    return float(np.sqrt(ratios[order[middle]]))


def _region(difference: Floats, seen: Bools) -> Bools:
    """Hysteresis, without specks and edge strips, gaps closed."""
    nothing = np.zeros(difference.shape, np.bool_)
    if not seen.any():
        return nothing
    lowest, quiet = np.quantile(difference[seen], [0.05, 0.25])
    noise = min(MAX_NOISE, float(quiet + 4 * (quiet - lowest)))
    strongest = cv2.dilate(difference, _disc(_REACH))
    labels, count = ndimage.label(difference > np.maximum(max(LOW, noise), _TAIL * strongest))
    if not count:
        return nothing
    which = np.arange(1, count + 1)
    peaks = ndimage.maximum(difference * inner(difference.shape), labels, which)
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    real = (np.asarray(peaks) > max(HIGH, 1.5 * noise)) & (areas >= MIN_AREA * difference.size)
    region = np.concatenate([[False], real])[labels].astype(np.uint8)
    edge = cv2.BORDER_REPLICATE
    closed = cv2.morphologyEx(region, cv2.MORPH_CLOSE, _disc(_CLOSE), borderType=edge)
    return np.asarray(closed, np.uint8).astype(np.bool_)


def _disc(radius: int) -> NDArray[np.uint8]:
    size = (2 * radius + 1, 2 * radius + 1)
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, size), np.uint8)


def _soften(lab: Floats, unit: float) -> Floats:
    """Colour twice as much as lightness: compression and autoencoders keep it coarser."""
    light, colour = _soft(lab[..., 0], _SOFTEN * unit), _soft(lab[..., 1:], 2 * _SOFTEN * unit)
    return np.dstack([light, colour])


def _fine(picture: Floats, unit: float) -> Floats:
    return np.asarray(picture - _soft(picture, unit), np.float32)


def _within(plane: Floats, where: Bools, sigma: float) -> Floats:
    """Softened from the pixels of `where` alone."""
    there = where.astype(np.float32)
    return np.asarray(
        _soft(plane * there, sigma) / np.maximum(_soft(there, sigma), 1e-6), np.float32
    )


def _soft(picture: Floats, sigma: float) -> Floats:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma), np.float32)

"""Reproducible noise: uniform draws only, so every machine gets the same numbers."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]


def stream(seed: int, name: str) -> np.random.Generator:
    """Independent generator for a named ingredient, so drawing order never matters."""
    entropy = np.random.SeedSequence([seed & 0xFFFFFFFF, zlib.crc32(name.encode())])
    return np.random.Generator(np.random.PCG64(entropy))


Window = tuple[slice, slice]


def _basis(span: slice, cell: float, offset: float) -> tuple[NDArray[np.int64], list[Field]]:
    """Lattice index and the four cubic B-spline weights for each pixel on one axis."""
    at = (np.arange(span.start, span.stop, dtype=np.float64) + 0.5) / cell + offset
    base = np.floor(at).astype(np.int64)
    t = at - base
    weights = [
        (1 - t) ** 3 / 6,
        (3 * t**3 - 6 * t**2 + 4) / 6,
        (-3 * t**3 + 3 * t**2 + 3 * t + 1) / 6,
        t**3 / 6,
    ]
    return base, weights


def smooth_noise(
    rng: np.random.Generator, size: int, window: Window, cell_x: float, cell_y: float
) -> Field:
    """One octave of B-spline value noise with standard deviation near one.

    The lattice covers a frame of ``size`` squared pixels; only the window is evaluated.
    """
    ix, wx = _basis(window[1], cell_x, float(rng.random()))
    iy, wy = _basis(window[0], cell_y, float(rng.random()))
    lattice = rng.random((int(size / cell_y) + 6, int(size / cell_x) + 6)) * 2.0 - 1.0
    # Columns first, on the small lattice; the large second step then copies whole rows.
    across = wx[0] * lattice.take(ix, axis=1)
    for k in range(1, 4):
        across += wx[k] * lattice.take(ix + k, axis=1)
    across *= 3.6
    out = np.zeros((len(iy), len(ix)))
    term = np.empty_like(out)
    for k in range(4):
        np.take(across, iy + k, axis=0, out=term, mode="clip")
        term *= wy[k][:, None]
        out += term
    return out


def fractal(
    rng: np.random.Generator,
    size: int,
    window: Window,
    cell: float,
    octaves: int = 4,
    stretch: float = 1.0,
    gain: float = 0.55,
) -> Field:
    """Several octaves of value noise; ``stretch`` > 1 elongates the grain along y."""
    total = np.zeros((window[0].stop - window[0].start, window[1].stop - window[1].start))
    power, amplitude = 0.0, 1.0
    for octave in range(octaves):
        step = max(cell / 2**octave, 1.0)
        octave_noise = smooth_noise(rng, size, window, step, step * stretch)
        octave_noise *= amplitude
        total += octave_noise
        power += amplitude**2
        amplitude *= gain
    return total / float(np.sqrt(power))


def grain(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """White, nearly Gaussian noise (sum of three uniforms) with unit deviation."""
    drawn: Field = rng.random((3, *shape)).sum(axis=0)
    return (drawn - 1.5) * 2.0


def wave(
    rng: np.random.Generator, at: Field, octaves: int = 3, gain: float = 0.6, period: int = 256
) -> Field:
    """Smooth noise along a coordinate (not a grid axis), e.g. the angle in an iris.

    The noise repeats after ``period`` units, so a full turn can close without a seam.
    """
    total = np.zeros_like(at)
    power, amplitude, frequency = 0.0, 1.0, 1.0
    for _ in range(octaves):
        size = period * round(frequency)
        lattice = rng.random(size) * 2.0 - 1.0
        pos = at * frequency
        base = np.floor(pos)
        t = pos - base
        t = t * t * (3.0 - 2.0 * t)
        i = base.astype(np.int64)
        total = total + amplitude * ((1 - t) * lattice[i % size] + t * lattice[(i + 1) % size])
        power += amplitude**2
        amplitude *= gain
        frequency *= 2.0
    return total * (2.0 / float(np.sqrt(power)))

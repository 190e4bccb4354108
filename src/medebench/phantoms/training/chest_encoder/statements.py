"""A patient before and after a change, in pictures and in texts, and which texts are true of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from medebench.phantoms.chest.captions import CLEAR, absent, device_words, finding_words
from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS, HOSPITALS, ChestSpec, Side
from medebench.phantoms.chest.patients import EVERYBODY, draw_device, draw_finding, draw_patient
from medebench.phantoms.drawings.noise import stream


@dataclass(frozen=True)
class WritingStyle:
    """How someone writes: what they mention, how precisely, and what they report as absent."""

    precise: bool
    sided: bool
    devices: bool
    hospital: bool
    denied: frozenset[str]


def texts(change: Change, rng: np.random.Generator) -> tuple[str, str]:
    """What one person would write about both pictures; the texts tell what changed."""
    style = any_style(change, rng)
    return report(change.before, style), report(change.after, style)


def any_style(change: Change, rng: np.random.Generator) -> WritingStyle:
    before, after = change.before, change.after
    old, new = ({one.name for one in spec.findings} for spec in (before, after))
    changed: set[str] = {name for name in sorted(old ^ new) if rng.random() < 0.5}
    devices = {one.name for one in before.devices} ^ {one.name for one in after.devices}
    changed |= {name for name in sorted(devices) if rng.random() < 0.3}
    others = [name for name in FINDINGS if name not in old | new]
    if others and rng.random() < 0.2:
        changed.add(others[int(rng.integers(len(others)))])
    # Where only the side has changed, it must be told.
    moved = old == new and before.findings != after.findings
    return WritingStyle(
        precise=moved or bool(rng.random() < 0.7),
        sided=bool(rng.random() < 0.6),
        devices=bool(devices) or bool(rng.random() < 0.7),
        hospital=before.look.hospital != after.look.hospital or bool(rng.random() < 0.4),
        denied=frozenset(changed),
    )


def report(spec: ChestSpec, style: WritingStyle) -> str:
    """
    >>> report(ChestSpec(0), WritingStyle(True, True, True, True, frozenset({"nodule"})))
    'no nodule, hospital A'
    """
    parts = [finding_words(one, style.precise) for one in spec.findings]
    denied = [absent(n) for n in FINDINGS if n in style.denied and spec.finding(n) is None]
    parts += denied
    if not parts:
        parts.append(CLEAR)
    if style.devices:
        parts += [device_words(one, style.sided) for one in spec.devices]
        parts += [absent(n) for n in DEVICES if n in style.denied and spec.device(n) is None]
    return ", ".join(parts + ([f"hospital {spec.look.hospital}"] if style.hospital else []))


def claims(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


def true_of(spec: ChestSpec) -> frozenset[str]:
    """Every claim that may be made about it."""
    there = {one.name for one in spec.findings} | {one.name for one in spec.devices}
    words = {f"hospital {spec.look.hospital}"}
    words |= {absent(name) for name in (*FINDINGS, *DEVICES) if name not in there}
    for precise in (True, False):
        words |= {finding_words(one, precise) for one in spec.findings}
        words |= {device_words(one, precise) for one in spec.devices}
    return frozenset(words if spec.findings else words | {CLEAR})


@dataclass(frozen=True)
class Difference:
    """What is no longer true, and what has become true."""

    lost: frozenset[str]
    gained: frozenset[str]

    def __neg__(self) -> Difference:
        return Difference(self.gained, self.lost)

    def __le__(self, other: Difference) -> bool:
        """Whether the other says at least as much."""
        return self.lost <= other.lost and self.gained <= other.gained

    def touches(self, other: Difference) -> bool:
        """Whether they have anything to do with each other; any finding makes lungs not clear."""
        return bool((self.lost | self.gained) & (other.lost | other.gained) - {CLEAR})


def happened(change: Change) -> Difference:
    """All that may truly be said about a change."""
    before, after = true_of(change.before), true_of(change.after)
    return Difference(before - after, after - before)


def stated(before: str, after: str) -> Difference:
    """What two texts say about a change.

    >>> stated("nodule, wires", "no nodule, wires") == -stated("no nodule", "nodule")
    True
    """
    return Difference(claims(before) - claims(after), claims(after) - claims(before))


@dataclass(frozen=True)
class Change:
    """From one picture to another of the same patient."""

    before: ChestSpec
    after: ChestSpec

    def __neg__(self) -> Change:
        return Change(self.after, self.before)


def patient(seed: int, index: int) -> tuple[ChestSpec, ChestSpec, ChestSpec]:
    """Patient `index` as drawn, with another finding, and with another device or hospital."""
    first = draw_patient(seed, index, EVERYBODY)
    rng = stream(seed, f"changed {index}")
    other = _device(first, rng) if rng.random() < 0.6 else _hospital(first, rng)
    return first, _finding(first, rng), other


def _finding(spec: ChestSpec, rng: np.random.Generator) -> ChestSpec:
    """Mostly there or gone; now and then on the other side, another one, or one more."""
    there = [one.name for one in spec.findings]
    absent = [name for name in FINDINGS if name not in there]
    new = draw_finding(absent[int(rng.integers(len(absent)))], rng)
    if not spec.findings:
        return spec.having(new)
    chance, old = rng.random(), spec.findings[0]
    if chance < 0.6:
        return spec.without(old.name)
    if chance < 0.75 and old.side != "both":
        return spec.having(replace(old, side=opposite(old.side)))
    return spec.without(old.name).having(new) if chance < 0.85 else spec.having(new)


def _device(spec: ChestSpec, rng: np.random.Generator) -> ChestSpec:
    name = DEVICES[int(rng.integers(len(DEVICES)))]
    return spec.without(name) if spec.device(name) else spec.having(draw_device(name, spec, rng))


def _hospital(spec: ChestSpec, rng: np.random.Generator) -> ChestSpec:
    others = [name for name in HOSPITALS if name != spec.look.hospital]
    chosen = others[int(rng.integers(len(others)))]
    return replace(spec, look=replace(spec.look, hospital=chosen))


def opposite(side: Side) -> Side:
    return "right" if side == "left" else "left"

"""Findings about sets of MedGEN-Bench: modalities, sizes of targets, boxes, shared sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from medebench.audit.audit_finding import Finding, Member, examples, tally
from medebench.audit.audited_case import Seen
from medebench.audit.duplicates import components
from medebench.cases.case import Case
from medebench.cases.medgen_names import ON_REFERENCE, OTHER, modality_of
from medebench.tasks.medgen_tasks import medgen_task

#: Shares of the image by which a box may stand out, and by which shapes may differ.
SLACK, SHAPE = 0.01, 0.02
#: Tasks that change the colours of the whole image.
_RECOLOURED = ("style-transfer", "contrast-enhancement")


def is_one_scene(case: Case) -> bool:
    """Whether the target shows the input's scene in its colours, so that the two can be aligned."""
    return case.grid == "previous" and case.task not in (*_RECOLOURED, *ON_REFERENCE)


def medgen_findings(seen: Sequence[Seen]) -> Iterator[Finding]:
    own = [one for one in seen if medgen_task(one.case) is not None]
    if own:
        yield from _modalities(own)
        yield from _targets(own)
        yield from _boxes(own)
        yield from _sheets(own)
        yield from _sources(own)


def _modalities(seen: Sequence[Seen]) -> Iterator[Finding]:
    spellings: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one in seen:
        recorded = str(one.case.extra.get("recorded_modality") or one.case.modality).strip()
        spellings[one.case.modality].append((one.case.id, recorded))
    lines, ids = [], []
    for name, found in sorted(spellings.items()):
        counts = Counter(recorded for _, recorded in found)
        if name != OTHER and len(counts) > 1:
            usual = counts.most_common(1)[0][0]
            lines.append(f"{name}: {tally(recorded for _, recorded in found)}")
            ids += [case_id for case_id, recorded in found if recorded != usual]
    if ids:
        yield Finding("modality-spelling", tuple(ids), examples(lines, 6))
    unknown = [
        (case_id, recorded)
        for case_id, recorded in spellings.get(OTHER, [])
        if modality_of(recorded) == OTHER
    ]
    if unknown:
        told = tally(recorded or "(none)" for _, recorded in unknown)
        yield Finding("modality-unknown", tuple(case_id for case_id, _ in unknown), told)


def _targets(seen: Sequence[Seen]) -> Iterator[Finding]:
    shapes, small = [], []
    for one in seen:
        before, after = one.sound("previous"), one.sound("reference")
        if before is None or after is None:
            continue
        told = (one.case.id, _sizes(before.size, after.size))
        if one.case.grid == "previous" and _stretched(before.size, after.size):
            shapes.append(told)
        if one.case.task == "resolution-editing" and _pixels(after.size) <= _pixels(before.size):
            small.append(told)
    for code, found in (("target-shape", shapes), ("target-not-larger", small)):
        if found:
            lines = (f"case {case_id}: {sizes}" for case_id, sizes in found)
            yield Finding(code, tuple(case_id for case_id, _ in found), examples(lines))


def _stretched(before: tuple[int, int], after: tuple[int, int]) -> bool:
    across, down = after[0] / before[0], after[1] / before[1]
    return abs(across / down - 1) > SHAPE


def _pixels(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _sizes(before: tuple[int, int], after: tuple[int, int]) -> str:
    return f"target is {after[0]} x {after[1]}, input {before[0]} x {before[1]}"


def _boxes(seen: Sequence[Seen]) -> Iterator[Finding]:
    outside = [
        (one.case.id, box)
        for one in seen
        if (box := one.case.extra.get("bbox")) is not None and _stands_out(box)
    ]
    if outside:
        lines = (
            f"case {case_id}: ({', '.join(f'{number:.3g}' for number in box)})"
            for case_id, box in outside
        )
        yield Finding("box-outside", tuple(case_id for case_id, _ in outside), examples(lines))


def _stands_out(box: Any) -> bool:
    across, down, width, height = box
    low = min(across - width / 2, down - height / 2)
    high = max(across + width / 2, down + height / 2)
    return bool(low < -SLACK or high > 1 + SLACK)


def _sheets(seen: Sequence[Seen]) -> Iterator[Finding]:
    if ids := tuple(one.case.id for one in seen if one.case.extra.get("contact_sheet")):
        yield Finding("contact-sheet", ids, f"{len(ids):,} of {len(seen):,} cases")


def _sources(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Clusters of records that share an input picture, by its content and not by its path."""
    shown: dict[bytes, list[Member]] = defaultdict(list)
    for one in seen:
        for role in one.case.inputs():
            if (facts := one.sound(role)) is not None:
                shown[facts.pixels].append(Member(one.case.id, role))
    edges = [(found[0], other) for found in shown.values() for other in found]
    # Further images of one record hold it together.
    own: dict[str, Member] = {}
    edges += [(own.setdefault(member.case, member), member) for _, member in list(edges)]
    clusters = [group for group in components(edges) if len({one.case for one in group}) > 1]
    if not clusters:
        return
    clusters.sort(key=lambda group: -len({one.case for one in group}))
    held = [len({one.case for one in group}) for group in clusters]
    members = {one.case for group in clusters for one in group}
    of = len(seen) - sum(held) + len(clusters)
    detail = (
        f"{len(seen):,} cases come from {of:,} sources; the largest has {held[0]:,} cases "
        f"({', '.join(sorted({one.case for one in clusters[0]})[:3])}, ...)"
    )
    groups = tuple(tuple(sorted(group)) for group in clusters)
    ids = tuple(one.case.id for one in seen if one.case.id in members)
    yield Finding("shared-source", ids, detail, groups)

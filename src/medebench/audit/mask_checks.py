"""Findings about regions of interest and the masks they are stored in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from medebench.audit.audit_finding import Finding, distinct, examples, tally
from medebench.audit.audited_case import MASKS, Seen
from medebench.audit.file_facts import FileFacts, Region

#: Shares of the picture below which a region is suspicious, ...
TINY = 0.001
#: ... and of the windows outside it below which preservation cannot be measured.
FREE = 0.05


def mask_findings(seen: Sequence[Seen], inverted: Collection[str] = ()) -> Iterator[Finding]:
    """`inverted` masks are large because they are inverted, which is said of them already."""
    by_role = {
        role: [(one, facts) for one in seen if (facts := one.sound(role)) is not None]
        for role in MASKS
    }
    masks = [pair for pairs in by_role.values() for pair in pairs]
    yield from _sizes(masks)
    modes = [(one, facts) for one, facts in masks if facts.mode != "L"]
    if modes:
        ids = distinct(one.case.id for one, _ in modes)
        yield Finding("mask-mode", ids, tally(facts.mode for _, facts in modes))
    of = {"roi": by_role["roi"], "keep": by_role["keep"], "any": masks}
    for code, where, wrong, figure in _CHECKS:
        regions = ((one.case.id, facts.region) for one, facts in of[where])
        hit = [(case_id, one) for case_id, one in regions if one is not None and wrong(one)]
        if code == "roi-too-large":
            hit = [item for item in hit if item[0] not in inverted]
        if hit:
            worst = sorted(hit, key=lambda item: -item[1].greys)
            shown = examples(f"case {case_id}: {figure(region)}" for case_id, region in worst)
            yield Finding(code, distinct(case_id for case_id, _ in hit), shown)


def _sizes(masks: list[tuple[Seen, FileFacts]]) -> Iterator[Finding]:
    other = []
    for one, facts in masks:
        previous = one.sound("previous")
        if previous is not None and previous.size != facts.size:
            other.append((one.case.id, facts.size, previous.size))
    if other:
        lines = (
            f"case {case_id}: mask is {mask[0]} x {mask[1]}, image {image[0]} x {image[1]}"
            for case_id, mask, image in other
        )
        yield Finding("mask-size", distinct(case_id for case_id, _, _ in other), examples(lines))


def _darkness(region: Region) -> str:
    return f"brightest part {'grey' if region.greys else 'black'}"


#: The code, which masks, what is wrong, and the figure that shows it.
_CHECKS: tuple[tuple[str, str, Callable[[Region], bool], Callable[[Region], str]], ...] = (
    ("roi-empty", "roi", lambda region: region.share == 0, _darkness),
    (
        "roi-tiny",
        "roi",
        lambda region: 0 < region.share < TINY,
        lambda region: f"ROI is {region.share:.3%} of the image",
    ),
    (
        "roi-too-large",
        "roi",
        lambda region: region.free < FREE,
        lambda region: f"{region.free:.1%} of the windows are free, ROI {region.share:.1%}",
    ),
    ("keep-empty", "keep", lambda region: region.share == 0, _darkness),
    (
        "mask-greys",
        "any",
        lambda region: region.greys > 0,
        lambda region: f"{region.greys:.2%} of the pixels",
    ),
    (
        "mask-zero-one",
        "any",
        lambda region: region.zero_one,
        lambda region: f"ROI {region.share:.1%}",
    ),
)

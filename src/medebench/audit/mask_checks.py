"""Findings about regions of interest and the masks they are stored in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from medebench.audit.audit_finding import Finding, Severity, distinct, examples, tally
from medebench.audit.audited_case import MASKS, Seen
from medebench.audit.file_facts import FileFacts, Region

#: Shares of the picture below which a region is suspicious, ...
TINY = 0.001
#: ... and of the windows outside it below which preservation cannot be measured.
FREE = 0.05


def mask_findings(seen: Sequence[Seen]) -> Iterator[Finding]:
    by_role = {
        role: [(one, facts) for one in seen if (facts := one.sound(role)) is not None]
        for role in MASKS
    }
    masks = [pair for pairs in by_role.values() for pair in pairs]
    yield from _sizes(masks)
    modes = [(one, facts) for one, facts in masks if facts.mode != "L"]
    if modes:
        yield Finding(
            "warning",
            "mask-mode",
            "mask is not one 8-bit channel",
            distinct(one.case.id for one, _ in modes),
            tally(facts.mode for _, facts in modes),
            "save it as 8-bit grey; it is read as its brightness",
        )
    of = {"roi": by_role["roi"], "keep": by_role["keep"], "any": masks}
    for where, head, remedy, wrong, figure in _CHECKS:
        regions = ((one.case.id, facts.region) for one, facts in of[where])
        hit = [(case_id, one) for case_id, one in regions if one is not None and wrong(one)]
        if hit:
            ids = distinct(case_id for case_id, _ in hit)
            worst = sorted(hit, key=lambda item: -item[1].greys)
            shown = examples(f"case {case_id}: {figure(region)}" for case_id, region in worst)
            yield Finding(*head, ids, shown, remedy)


def _sizes(masks: list[tuple[Seen, FileFacts]]) -> Iterator[Finding]:
    other = []
    for one, facts in masks:
        previous = one.sound("previous")
        if previous is not None and previous.size != facts.size:
            other.append((one.case.id, facts.size, previous.size))
    if other:
        yield Finding(
            "warning",
            "mask-size",
            "mask of a different size from its image",
            distinct(case_id for case_id, _, _ in other),
            examples(
                f"case {case_id}: mask is {mask[0]} x {mask[1]}, image {image[0]} x {image[1]}"
                for case_id, mask, image in other
            ),
            "draw it on the image; it is stretched to the image by nearest neighbour",
        )


def _darkness(region: Region) -> str:
    return f"brightest part {'grey' if region.greys else 'black'}"


#: Which masks, the head of the finding, the remedy, what is wrong, and the figure that shows it.
_CHECKS: tuple[
    tuple[str, tuple[Severity, str, str], str, Callable[[Region], bool], Callable[[Region], str]],
    ...,
] = (
    (
        "roi",
        ("error", "roi-empty", "the ROI is empty"),
        "draw the region; with none there is nothing that may change",
        lambda region: region.share == 0,
        _darkness,
    ),
    (
        "roi",
        ("warning", "roi-tiny", f"the ROI is less than {TINY:.1%} of the image"),
        "check that the mask shows all that may change",
        lambda region: 0 < region.share < TINY,
        lambda region: f"ROI is {region.share:.3%} of the image",
    ),
    (
        "roi",
        ("warning", "roi-too-large", "too little is left outside the ROI to measure preservation"),
        "tighten the mask; `cp` is undefined or rests on a few windows, `cp_published` flatters",
        lambda region: region.free < FREE,
        lambda region: f"{region.free:.1%} of the windows are free, ROI {region.share:.1%}",
    ),
    (
        "keep",
        ("warning", "keep-empty", "the keep mask is empty"),
        "draw what must stay, or leave the mask out; it is read as keeping nothing",
        lambda region: region.share == 0,
        _darkness,
    ),
    (
        "any",
        ("warning", "mask-greys", "mask with values other than 0 and 255"),
        "cut it at 127, as medebench reads it; the published score weights greys instead",
        lambda region: region.greys > 0,
        lambda region: f"{region.greys:.2%} of the pixels",
    ),
    (
        "any",
        ("warning", "mask-zero-one", "mask stored as 0 and 1"),
        "save it as 0 and 255; it is read so, but other programs see an empty mask",
        lambda region: region.zero_one,
        lambda region: f"ROI {region.share:.1%}",
    ),
)

"""Findings about regions of interest and the masks they are stored in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from medebench.cases.audit.facts import FileFacts, Region
from medebench.cases.audit.finding import Finding, Severity, distinct, examples, tally
from medebench.cases.audit.seen import MASKS, Seen

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
    for check in (_empty, _tiny, _too_large):
        yield from check(_regions(by_role["roi"]))
    yield from _keeps_nothing(_regions(by_role["keep"]))
    for check in (_greys, _zero_one):
        yield from check(_regions(masks))


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
            "mask of another size than its image",
            distinct(case_id for case_id, _, _ in other),
            examples(
                f"case {case_id}: mask is {mask[0]} x {mask[1]}, image {image[0]} x {image[1]}"
                for case_id, mask, image in other
            ),
            "draw it on the image; it is stretched to the image by nearest neighbour",
        )


_Regions = list[tuple[Seen, Region]]


def _regions(masks: list[tuple[Seen, FileFacts]]) -> _Regions:
    return [(one, facts.region) for one, facts in masks if facts.region is not None]


def _empty(regions: _Regions) -> Iterator[Finding]:
    yield from _report(
        regions,
        lambda region: region.share == 0,
        lambda region: f"brightest part {'grey' if region.greys else 'black'}",
        ("error", "roi-empty", "the ROI is empty"),
        "draw the region; with none there is nothing that may change",
    )


def _tiny(regions: _Regions) -> Iterator[Finding]:
    yield from _report(
        regions,
        lambda region: 0 < region.share < TINY,
        lambda region: f"ROI is {region.share:.3%} of the image",
        ("warning", "roi-tiny", f"the ROI is less than {TINY:.1%} of the image"),
        "check that the mask shows all that may change",
    )


def _too_large(regions: _Regions) -> Iterator[Finding]:
    yield from _report(
        regions,
        lambda region: region.free < FREE,
        lambda region: f"{region.free:.1%} of the windows are free, ROI {region.share:.1%}",
        ("warning", "roi-too-large", "too little is left outside the ROI to measure preservation"),
        "tighten the mask; `cp` is undefined or rests on a few windows, `cp_published` flatters",
    )


def _keeps_nothing(regions: _Regions) -> Iterator[Finding]:
    yield from _report(
        regions,
        lambda region: region.share == 0,
        lambda region: f"brightest part {'grey' if region.greys else 'black'}",
        ("warning", "keep-empty", "the keep mask is empty"),
        "draw what must stay, or leave the mask out; it is read as keeping nothing",
    )


def _greys(regions: _Regions) -> Iterator[Finding]:
    yield from _report(
        regions,
        lambda region: region.greys > 0,
        lambda region: f"{region.greys:.2%} of the pixels",
        ("warning", "mask-greys", "mask with values other than 0 and 255"),
        "cut it at 127, as medebench reads it; the published score weights greys instead",
    )


def _zero_one(regions: _Regions) -> Iterator[Finding]:
    yield from _report(
        regions,
        lambda region: region.zero_one,
        lambda region: f"ROI {region.share:.1%}",
        ("warning", "mask-zero-one", "mask stored as 0 and 1"),
        "save it as 0 and 255; it is read so, but other programs see an empty mask",
    )


def _report(
    regions: _Regions,
    wrong: Callable[[Region], bool],
    figure: Callable[[Region], str],
    head: tuple[Severity, str, str],
    remedy: str,
) -> Iterator[Finding]:
    hit = [(one.case.id, region) for one, region in regions if wrong(region)]
    if hit:
        worst = sorted(hit, key=lambda item: -item[1].greys)
        detail = examples(f"case {case_id}: {figure(region)}" for case_id, region in worst)
        yield Finding(*head, distinct(case_id for case_id, _ in hit), detail, remedy)

"""`describe_cases`: what a set of cases is made of, as a page, figures and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError
from medebench.files import unwritable
from medebench.page.document import render, static, write_document
from medebench.page.figure import Drawing, Sketch, draw
from medebench.page.number import counted, listed, number
from medebench.page.page_folder import Folder
from medebench.page.section import Section
from medebench.page.table import Cell, Column, Row, Table, csv_records
from medebench.page.table import Group as Rows
from medebench.progress import Progress, silent
from medebench.reporting.case_groups import Group, groups_of
from medebench.reporting.figures import set_figures
from medebench.reporting.set_facts import TEXTS, CaseFacts, measure, read_encoder
from medebench.tasks import find_task

#: By which a folder with a description is known.
MARKER = ".medebench-description.json"
_PACKAGE = "medebench.reporting"
_STYLE = "description.css"


@dataclass(frozen=True)
class SetDescription:
    """A description that was written: its page, and the table of what was measured."""

    index: Path
    numbers: Table

    def __repr__(self) -> str:
        return f"SetDescription({self.index})"


def describe_cases(
    cases: str | Path | CaseSet,
    out: str | Path,
    *,
    encoder: str | None = None,
    device: str = "auto",
    workers: int | None = None,
    progress: Progress = silent,
) -> SetDescription:
    """Draw what a set is made of: groups, image sizes, regions of interest, texts, sources.

    Args:
        cases: whatever `load_cases` takes.
        out: folder of the page; an earlier description in it is renewed.
        encoder: also compare prompts with input images; one that is not on this machine is
            refused, never downloaded.
        device: where the encoder computes: auto, cpu, cuda or mps.
        workers: threads; all cores by default.
        progress: called with (done, total).

    Returns:
        Where the page is, and the numbers it shows.

    >>> found = mb.describe_cases("phantoms:count=4", tmp / "described")
    >>> found.numbers.rows[0].name
    'Width, pixels'
    """
    found = load_cases(cases)
    if not found.cases:
        raise InputError(f"{found.name}: holds no cases")
    extractor = None if encoder is None else read_encoder(encoder, device)
    try:
        folder = Folder(
            Path(out).expanduser().absolute(), marker=MARKER, holds="not a description of a set"
        )
        name = None if extractor is None else extractor.encoder.name
        told = _Description(found, measure(found.cases, extractor, workers, progress), name)
        return told.write(folder)
    except OSError as error:
        raise unwritable(Path(out), error) from error


@dataclass(frozen=True)
class _Description:
    cases: CaseSet
    facts: Sequence[CaseFacts]
    encoder: str | None

    @cached_property
    def groups(self) -> list[Group]:
        """Those of the task first, then all others; none that no case is in."""
        leading = [group.name for group in groups_of(find_task(self.cases.task))]
        others = sorted({"modality", *(name for case in self.cases for name in case.groups)})
        names = dict.fromkeys([*leading, "organ", "task", *others])
        every = [Group(name, name) for name in names]
        return [group for group in every if any(case.group(group.name) for case in self.cases)]

    def counts(self, group: Group) -> Counter[str]:
        return Counter(case.group(group.name) or group.none for case in self.cases)

    def nested(self, outer: Group, inner: Group) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for case in self.cases:
            within = found.setdefault(case.group(outer.name) or outer.none, Counter())
            within[case.group(inner.name) or inner.none] += 1
        return found

    @cached_property
    def sources(self) -> Counter[str]:
        return Counter(one.source for one in self.facts if one.source is not None)

    @cached_property
    def sizes(self) -> Counter[tuple[int, int]]:
        return Counter((one.width, one.height) for one in self.facts if one.width and one.height)

    @cached_property
    def measured(self) -> dict[str, tuple[list[float], int]]:
        """By what it is, the values that there are, and how many decimals are worth printing."""
        facts = self.facts
        found: dict[str, tuple[list[float], int]] = {
            "Width, pixels": ([one.width for one in facts if one.width], 0),
            "Height, pixels": ([one.height for one in facts if one.height], 0),
            "ROI, % of the frame": ([100 * one.roi for one in facts if one.roi is not None], 1),
        }
        for name, label in TEXTS.items():
            words = [one.words[name] for one in facts if name in one.words]
            found[f"{label}, words"] = ([float(n) for n in words], 0)
        close = [one.similarity for one in facts if one.similarity is not None]
        found[f"Prompt and image, {self.encoder}"] = (close, 3)
        return {name: one for name, one in found.items() if one[0]}

    @property
    def numbers(self) -> Table:
        heads = ["", "cases", "least", "5 %", "median", "95 %", "most"]
        columns = [Column(head, "left" if not head else "right") for head in heads]
        rows = []
        for name, (values, decimals) in self.measured.items():
            found = np.percentile(values, [0, 5, 50, 95, 100])
            every = len(values) == len(self.facts)
            n = f"{len(values):,}" + ("" if every else f" of {len(self.facts):,}")
            cells = [Cell(number(float(v), decimals), value=float(v)) for v in found]
            rows.append(Row(name, [Cell(n, value=len(values)), *cells]))
        return Table(columns, [Rows(rows)], notes=self.notes)

    @property
    def notes(self) -> list[str]:
        found = []
        reasons = Counter(one.reason for one in self.facts if one.reason)
        for reason, count in reasons.most_common(3):
            found.append(f"{counted(count, 'case')} not measured in full: {reason}.")
        if len(reasons) > 3:
            found.append(f"{counted(len(reasons) - 3, 'more reason')}: see cases.csv.")
        if cut := sum(one.cut for one in self.facts):
            found.append(f"{self.encoder} read only the beginning of {counted(cut, 'prompt')}.")
        return found

    @property
    def overview(self) -> list[tuple[str, str]]:
        found = [("Cases", f"{len(self.cases):,}"), ("Task", find_task(self.cases.task).name)]
        for group in self.groups[:1]:
            found.append((group.plural.capitalize(), f"{len(self.counts(group)):,}"))
        for outer, inner in zip(self.groups[:1], self.groups[1:2], strict=False):
            alone = len(self.counts(inner))
            pairs = sum(map(len, self.nested(outer, inner).values()))
            within = "" if pairs == alone else f"; {pairs:,} within {outer.plural}"
            found.append((inner.plural.capitalize(), f"{alone:,}{within}"))
        if self.sources:
            shared = [count for count in self.sources.values() if count > 1]
            told = f"{len(self.sources):,}"
            if shared:
                told += f"; {sum(shared):,} cases share one of {len(shared):,}"
            found.append(("Source images", told))
        if len(self.sizes) == 1:
            [(width, height)] = self.sizes
            found.append(("Size", f"{width} × {height}, all"))
        deep = Counter(one.bits for one in self.facts if one.bits)
        if set(deep) - {8}:
            bits = listed(f"{count:,} of {depth} bits" for depth, count in sorted(deep.items()))
            found.append(("Depth", bits))
        return [*found, ("Fingerprint", self.cases.fingerprint[:12])]

    def sections(self) -> Iterator[Section]:
        made = {
            "groups": ("Groups", "How many cases there are of each kind.", self._of_groups()),
            "images": ("Images", "What a system is given.", self._of_images()),
            "texts": (
                "Texts",
                "What a system is told, and what it is compared with.",
                self._of_texts(),
            ),
        }
        for name, (title, lede, sketches) in made.items():
            if drawings := draw(sketches):
                yield self._section(name, title, lede, drawings)
        yield self._section("numbers", "Numbers", "", [], numbers=self.numbers)

    def _section(
        self,
        name: str,
        title: str,
        lede: str,
        drawings: Sequence[Drawing],
        numbers: Table | None = None,
    ) -> Section:
        given = {"name": name, "title": title, "lede": lede, "drawings": drawings}
        html = render(_PACKAGE, "description.html", numbers=numbers, **given)
        return Section(name, title, html, drawings=drawings)

    def _of_groups(self) -> Iterator[Sketch]:
        for place, group in enumerate(self.groups):
            if place == 1:
                outer = self.groups[0]
                within = self.nested(outer, group)
                yield Sketch(
                    f"cases-by-{outer.words}-and-{group.words}",
                    f"{group.plural.capitalize()} of each {outer.words}",
                    f"Number of cases of each {group.words} within its {outer.words}.",
                    lambda within=within: set_figures.nested(within),  # type: ignore[misc]
                )
                continue
            counts = self.counts(group)
            yield Sketch(
                f"cases-by-{group.words}",
                f"Cases by {group.words}",
                f"Number of cases of each {group.words}.",
                lambda counts=counts: set_figures.bars(counts),  # type: ignore[misc]
            )

    def _of_images(self) -> Iterator[Sketch]:
        shares = [one.roi for one in self.facts if one.roi is not None]
        if shares:
            yield Sketch(
                "roi",
                "Share of the region of interest",
                f"Of the frame, over {counted(len(shares), 'case')} with a mask. What lies outside "
                "is what contextual preservation is measured on.",
                lambda: set_figures.histogram(
                    shares, (0, 1), "ROI, share of the frame", set_figures.share_text
                ),
            )
        if len(self.sizes) > 1:
            yield Sketch(
                "sizes",
                "Image sizes",
                "Each point is a size, the larger the more cases have it; the line is square.",
                lambda: set_figures.sizes(self.sizes),
            )
        if any(count > 1 for count in self.sources.values()):
            shared = Counter(self.sources.values())
            rows = {counted(n, "case"): count for n, count in sorted(shared.items())}
            yield Sketch(
                "sources",
                "Cases made from one image",
                "How many source images serve so many cases; equal pixels count as one image. "
                "Cases that share an image are not independent.",
                lambda: set_figures.bars(rows),
            )

    def _of_texts(self) -> Iterator[Sketch]:
        words = {
            label: found
            for name, label in TEXTS.items()
            if (found := [one.words[name] for one in self.facts if name in one.words])
        }
        if words:
            yield Sketch(
                "lengths",
                "Length of texts",
                "Words; each point is a case, thick: middle half, thin: 5 % to 95 %, ring: median.",
                lambda: set_figures.lengths(words),
            )
        close = [one.similarity for one in self.facts if one.similarity is not None]
        if close:
            ends = min(0.0, *close), max(0.4, *close)
            yield Sketch(
                "similarity",
                "Prompt and image",
                f"Cosine of prompt and input image to {self.encoder}. The image is seen whole.",
                lambda: set_figures.histogram(close, ends, "similarity", lambda v: number(v, 3)),
            )

    def write(self, folder: Folder) -> SetDescription:
        sections = list(self.sections())
        title = f"Cases of {self.cases.name}"
        folder.write("cases.csv", csv_records(list(self._case_rows())))
        folder.write("groups.csv", csv_records(list(self._group_rows())))
        numbers = self.numbers
        folder.write("numbers.csv", numbers.csv())
        folder.write(f"assets/{_STYLE}", static(_PACKAGE, _STYLE))
        write_document(
            folder,
            _PACKAGE,
            sections,
            title=title,
            head=render(_PACKAGE, "description_head.html", title=title, overview=self.overview),
            styles=["page.css", _STYLE],
            scripts=["dom.js", "theme.js"],
            data={},
            skip=(sections[0].id, "figures"),
        )
        folder.close({})
        return SetDescription(folder.path / "index.html", numbers)

    def _case_rows(self) -> Iterator[dict[str, object]]:
        for one in self.facts:
            row: dict[str, object] = {"case": one.case.id}
            row |= {group.name: one.case.group(group.name) for group in self.groups}
            row |= {"width": one.width, "height": one.height, "bits": one.bits, "roi": one.roi}
            row |= {"source": one.source, "cases of the source": self.sources.get(one.source or "")}
            row |= {f"words of the {name}": one.words.get(name) for name in TEXTS}
            yield row | {"similarity": one.similarity, "reason": one.reason}

    def _group_rows(self) -> Iterator[dict[str, object]]:
        for place, group in enumerate(self.groups):
            outer = self.groups[0] if place == 1 else None
            within = self.nested(outer, group) if outer else {"": self.counts(group)}
            for name, counts in within.items():
                for value, count in set_figures.longest_first(counts):
                    yield {"group": group.name, "within": name, "value": value, "cases": count}

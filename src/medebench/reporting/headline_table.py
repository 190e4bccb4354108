"""The headline table: models, controls, and the paper's models set apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from medebench.analysis import Comparison
from medebench.analysis.estimate import Estimate
from medebench.analysis.failure_cost import AS_END, AS_NOTHING, AS_WORST
from medebench.analysis.published_tables import SCORES, PublishedTable, published_table
from medebench.page.number import counted, listed
from medebench.page.score_columns import STAND_IN, Score, order
from medebench.page.table_text import NEEDS
from medebench.reporting import headline_formats
from medebench.reporting.ceiling import score_ceiling
from medebench.reporting.collect import Entry, Failures, Material, collect
from medebench.reporting.statistics import Statistics, Summary, compute, lifted
from medebench.reporting.steering import not_blind, of_one_family
from medebench.runs.run_folder import Run

if TYPE_CHECKING:
    from rich.table import Table

#: Beside a model's number: significantly worse than the best model of the column.
MARK = "†"
MARK_MEANING = (
    "significantly worse than the best model of the column (bold): over the cases that both have "
    "scored, p ≤ 0.05 by a paired sign-flip permutation test and by the interval of the "
    "difference, after Holm's correction for all pairs of models"
)


@dataclass(frozen=True)
class Cell:
    """A mean over cases (micro) and over groups (macro), and over how many it was taken."""

    micro: Estimate
    macro: Estimate
    scored: int | None = None
    total: int | None = None
    coverage: str = ""
    best_micro: bool = False
    best_macro: bool = False
    mark: str = ""
    #: Over how many cases the test behind the mark was made.
    tested: int | None = None
    #: Outputs without a score that count as doing nothing.
    charged: int = 0

    def of(self, mean: str) -> Estimate:
        return self.micro if mean == "micro" else self.macro

    def best(self, mean: str) -> bool:
        return self.best_micro if mean == "micro" else self.best_macro


@dataclass(frozen=True)
class Row:
    name: str
    #: "model", "control" or "published"
    kind: str
    #: by (basis, metric)
    cells: dict[tuple[str, str], Cell]
    entry: Entry | None = None
    #: What does not hold about the numbers of a published row.
    doubt: str = ""

    def text(self, score: Score, value: float | None) -> str:
        """The number as printed; the paper's have two decimals and get no third."""
        return replace(score, decimals=2).text(value) if self.entry is None else score.text(value)

    @property
    def note(self) -> str:
        """What a reader must know before comparing: how many cases, and what it was shown."""
        if self.entry is None:
            return self.doubt
        return ", ".join(filter(None, [self.entry.extent, self.entry.sees, self.entry.steered]))


@dataclass(frozen=True)
class HeadlineTable:
    columns: tuple[Score, ...]
    rows: tuple[Row, ...]
    #: What the table is about unless asked otherwise, of `bases` (see `Material.bases`).
    basis: str
    bases: tuple[str, ...]
    headline: str
    published: PublishedTable | None
    n_shared: int
    #: (basis, metric) -> cases that all models have scored, where they have not scored the same
    ranked: dict[tuple[str, str], int] = field(default_factory=dict)
    editing: bool = True
    #: How failures are counted where they are.
    costs: str = ""
    #: By run, usable outputs of those that were asked for.
    delivered: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: Which cases were left out for what an audit found, if any.
    without: str = ""
    #: What the means are over that come first: cases ("micro") or groups ("macro").
    mean: str = "micro"
    group: str = "groups"
    #: Whether not every run does all kinds of work in the set.
    mixed: bool = False

    @property
    def mean_words(self) -> str:
        return "cases" if self.mean == "micro" else f"{self.group} of their means over cases"

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]

    @property
    def notes(self) -> list[str]:
        """What belongs under the table, wherever it is printed."""
        found = [f"Mean over {self.mean_words} with its 95 % interval (over source images)."]
        found += [f"Over {self.without}."] if self.without else []
        found += [self.costs] if self.basis == "asked" else []
        if "shared" in self.bases:
            found.append(
                "The runs do not cover the same cases: all means are over the "
                f"{self.n_shared} cases that every run has."
            )
        elif not self.mixed and len({row.entry.cases for row in self.rows if row.entry}) > 1:
            found.append("The runs cover different cases and share none: do not compare rows.")
        if any(cell.mark for row in self.rows for cell in row.cells.values()):
            found.append(f"{MARK} {MARK_MEANING}{self.tested()}.")
        found.extend(self.rankings(self.basis))
        if any(score.stand_in for score in self.columns):
            found.append(f"{listed([s.label for s in self.columns if s.stand_in])}: {STAND_IN}.")
        found += [ceiling] if (ceiling := score_ceiling(self)) else []
        entries = [row.entry for row in self.rows if row.entry]
        found.extend(not_blind(entries, self.columns))
        found.extend(of_one_family(entries, self.columns))
        found.extend(self.gaps())
        found.extend(self.lacking())
        return found

    def basis_name(self, basis: str) -> str:
        """As switches call it."""
        failed = "as doing nothing" if self.editing else "at their worst"
        names = {"own": "delivered", "shared": f"delivered, {self.n_shared:,} shared cases"}
        return names.get(basis, f"all asked for, failures {failed}")

    def rankings(self, basis: str) -> list[str]:
        """Where the best is not the best of the printed means, because those are over other cases.

        A run that scored only the easy cases must not win by that.
        """
        found: dict[int, list[str]] = {}
        for score in self.columns:
            if (basis, score.name) in self.ranked:
                found.setdefault(self.ranked[basis, score.name], []).append(score.label)
        return [
            f"{', '.join(labels)}: the models have not scored the same cases; the best is by the "
            f"mean over the {counted(count, 'case')} that all have scored, not by the means shown."
            if count
            else f"{', '.join(labels)}: no best, because no case is scored for all models."
            for count, labels in found.items()
        ]

    def tested(self) -> str:
        """ " (cases: CP 8, EA 4 to 7)": how many cases the marks rest on."""
        found = []
        for score in self.columns:
            cells = [row.cells.get((self.basis, score.name)) for row in self.rows]
            counts = [cell.tested for cell in cells if cell and cell.tested is not None]
            if counts:
                low, high = min(counts), max(counts)
                found.append(f"{score.label} {low if low == high else f'{low} to {high}'}")
        return f" (cases tested: {', '.join(found)})" if found else ""

    def gaps(self) -> list[str]:
        """Where a mean is not over all outputs, and why."""
        found: dict[str, list[str]] = {}
        for score in self.columns:
            for row in self.rows:
                cell = row.cells.get((self.basis, score.name))
                if cell and cell.coverage and cell.scored != cell.total:
                    found.setdefault(f"{score.label}: {cell.coverage}", []).append(row.name)
        return [f"{text} – {', '.join(names)}." for text, names in found.items()]

    def lacking(self) -> list[str]:
        """Which means have no interval, and why."""
        found: dict[str, dict[str, list[str]]] = {}
        for row in self.rows:
            for score in self.columns:
                cell = row.cells.get((self.basis, score.name))
                one = cell.of(self.mean) if cell else Estimate()
                if one.value is not None and one.reason:
                    found.setdefault(one.reason, {}).setdefault(row.name, []).append(score.label)
        return [
            f"{why[:1].upper()}{why[1:]} – "
            + "; ".join(f"{name} ({', '.join(labels)})" for name, labels in names.items())
            + "."
            for why, names in found.items()
        ]

    def rich(self, width: int | None = None) -> Table:
        return headline_formats.shown_table(self).rich(width)

    def csv(self) -> str:
        return headline_formats.csv_table(self)

    def markdown(self) -> str:
        return headline_formats.shown_table(self).markdown()

    def latex(self) -> str:
        return f"{NEEDS}\n{headline_formats.shown_table(self).latex()}"

    def to_json(self) -> dict[str, Any]:
        return headline_formats.json_table(self)


def headline_table(
    runs: Sequence[Run],
    *,
    headline: str | None = None,
    published: bool = True,
    failures: Failures = "count",
) -> HeadlineTable:
    """The table of `runs`, with the paper's models below unless `published` is false."""
    material = collect(runs, headline, failures)
    statistics = compute(material, detailed=False)
    return make_table(
        material, statistics, headline=material.headline(headline), published=published
    )


def make_table(
    material: Material,
    statistics: Statistics,
    *,
    headline: str = "cp",
    published: bool = True,
    scores: Sequence[Score] | None = None,
) -> HeadlineTable:
    """A table of these scores; by default of all but the learned ones."""
    columns = order(material.leading if scores is None else scores, headline, material.task)
    bases = tuple(material.bases)
    cells = {
        (entry.name, basis, score.name): _cell(summary)
        for entry in material.entries
        for basis in bases
        for score in columns
        if (summary := statistics.overall.get((basis, entry.name, score.name)))
    }
    ranked: dict[tuple[str, str], int] = {}
    for basis in bases:
        # Means over different cases have no best among them.
        alike = material.mixed and material.same_cases
        if basis != "own" or alike or len({entry.cases for entry in material.models}) == 1:
            for score in columns:
                level = statistics.levels[basis, score.name]
                if score.ranked and not level.whole:
                    ranked[basis, score.name] = len(level.cases)
                _honour(material, statistics, cells, basis, score)
    rows = [
        Row(
            entry.name,
            "control" if entry.control else "model",
            {(b, m): cell for (name, b, m), cell in cells.items() if name == entry.name},
            entry,
        )
        for entry in material.entries
    ]
    table = published_table() if published and material.editing else None
    if table is not None:
        beside = _published_rows(table, columns, bases)
        table = table if beside else None
        rows.extend(beside)
    return HeadlineTable(
        tuple(columns),
        tuple(rows),
        material.basis,
        bases,
        headline,
        table,
        len(material.shared),
        ranked,
        material.editing,
        _costs(material, statistics, columns) if "asked" in bases else "",
        material.delivered,
        material.without.told() if material.without else "",
        material.mean,
        material.groups[0].plural,
        material.mixed,
    )


def _costs(material: Material, statistics: Statistics, columns: Sequence[Score]) -> str:
    """What a failed output gets, score by score, and whom that lifts."""
    words = {
        AS_NOTHING: "what doing nothing gets on the same case",
        AS_END: "the bad end of the scale",
        AS_WORST: "the worst score of any run on the same case",
    }
    rules = [
        f"{words[kind]} ({listed([score.label for score in scores], len(scores))})"
        for kind, scores in material.cost_rules.items()
    ]
    text = f"A failed output counts: it gets {', or '.join(rules)}."
    gains = {
        entry.name: [
            score.label
            for score in columns
            if lifted(statistics.overall, material.comparable, entry.name, score)
        ]
        for entry in material.models
    }
    told = "; ".join(f"{name}: {', '.join(labels)}" for name, labels in gains.items() if labels)
    return f"{text} Whom that lifts is not called the best ({told})." if told else text


def _cell(summary: Summary) -> Cell:
    return Cell(
        summary.micro,
        summary.macro,
        summary.scored,
        summary.total,
        summary.coverage,
        charged=summary.charged,
    )


def _honour(
    material: Material,
    statistics: Statistics,
    cells: dict[tuple[str, str, str], Cell],
    basis: str,
    score: Score,
) -> None:
    """Mark the best model of a column, and those that are significantly worse than it."""
    names = [e.name for e in material.models if (e.name, basis, score.name) in cells]
    if not score.ranked or len(names) < 2:
        return
    level = statistics.levels[basis, score.name]
    if not level.micro:
        return
    leaders = {
        "micro": best_of(score, {n: one.value for n, one in level.micro.items()}),
        "macro": best_of(score, {n: one.value for n, one in level.macro.items()}),
    }
    for name in names:
        first = leaders[material.mean]
        pairs = [statistics.against(basis, score.name, name, one) for one in first]
        worse = [
            pair.n_cases
            for pair in pairs
            if name not in first and pair and loses(score, pair, name)
        ]
        cells[name, basis, score.name] = replace(
            cells[name, basis, score.name],
            best_micro=name in leaders["micro"],
            best_macro=name in leaders["macro"],
            mark=MARK if worse else "",
            tested=max(worse, default=None),
        )


def loses(score: Score, pair: Comparison, name: str) -> bool:
    """Whether the run of this name is significantly the worse one of the pair."""
    if pair.difference is None or not pair.significant():
        return False
    ahead = pair.difference if pair.run_a == name else -pair.difference
    return score.wins(0.0, ahead)


def best_of(score: Score, means: dict[str, float | None]) -> list[str]:
    """The names with the best mean; several where they are exactly equal."""
    known = {name: mean for name, mean in means.items() if mean is not None}
    if not known:
        return []
    best = (min if score.better == "lower" else max)(known.values())
    return [name for name, mean in known.items() if mean == best]


def _published_rows(
    table: PublishedTable, columns: Sequence[Score], bases: Sequence[str]
) -> list[Row]:
    targets: dict[str, str] = {}
    for column in columns:
        for printed, ours in SCORES.items():
            # The paper's CP is the published variant; its EA and VQ are a model's, so they stand
            # in no column of a stand-in.
            if ours in (column.name, column.dimension) and not column.stand_in:
                targets[printed] = column.name
    rows: list[Row] = []
    for model in table.models if targets else ():
        cells = {
            (basis, name): Cell(
                Estimate(table.micro(model, printed)), Estimate(table.macro(model, printed))
            )
            for printed, name in targets.items()
            for basis in bases
        }
        rows.append(Row(model, "published", cells, doubt=table.doubt(model, targets)))
    return rows

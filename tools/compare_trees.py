"""Do the same work with two trees of medebench and compare every number they write.

    python tools/compare_trees.py v0.1 . --work /tmp/compare
    python tools/compare_trees.py ../before . --python .venv/bin/python --only demo,judge

OLD and NEW are checkouts, or revisions of this repository, which are exported. Each runs in its own
environment (its `.venv`, made if it is missing) or, with --python, in one that both share. Only the
command line is used, so it does not matter where modules are. Ledgers must hold the same values,
and a reason of the same kind wherever there was one; numbers in tables must be equal. Changed
wording and renamed metrics, columns and files are listed, and what `trees/expected.py` says is
meant. Exit code 0 if all else is equal, 1 if not.
What a tree has done is kept in --work and done again only when its code has changed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from trees.differences import Found
from trees.environment import REPOSITORY, Tree, find_tree
from trees.expected import sort_out
from trees.ledger_diff import compare_ledgers
from trees.table_diff import compare_tables
from trees.workload import PARTS, CommandError, Part

SAMPLE = REPOSITORY.parent / "shared" / "medebench-sample"
WEIGHTS = REPOSITORY / ".venv" / "weights"
SHOWN, NOTED = 20, 60
#: How the line of a row ends that only the new tree has.
NEW_ROW = "no such row -> there"


def work(tree: Tree, name: str, sample: Path | None) -> Path:
    """The folder with what the tree made of a part; kept as long as the tree stays the same."""
    folder = tree.work / name
    stamp = folder / "exits.json"
    if stamp.is_file() and json.loads(stamp.read_text("utf-8"))["tree"] == tree.identity:
        print(f"{name}: {tree.side} tree: done before", flush=True)
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"{name}: {tree.side} tree at work", flush=True)
    part = Part(tree, folder)
    try:
        PARTS[name](part, sample)
    except CommandError as error:
        print(f"{name}: {tree.side} tree: {error}", flush=True)
    stamp.write_text(json.dumps({"tree": tree.identity, "exits": part.exits}, indent=1), "utf-8")
    return folder


def compare(old: Path, new: Path, renamed: dict[str, str], accepted: list[str]) -> Found:
    """Everything that two folders hold, made by the same commands."""
    found = Found(renamed=dict(renamed))
    exits = [_exits(folder) for folder in (old, new)]
    for before, after in zip(*exits, strict=False):
        if before != after:
            found.differ("command", before, after)
    if len(exits[0]) != len(exits[1]):
        found.differ("commands", len(exits[0]), len(exits[1]))
    compare_ledgers(old, new, found)
    compare_tables(old, new, found)
    for column, wording in list(found.texts.items()):
        wording.judge(column, accepted, found)
    return found


def _exits(folder: Path) -> list[str]:
    path = folder / "exits.json"
    found: list[str] = json.loads(path.read_text("utf-8"))["exits"] if path.is_file() else []
    return found


def tell(name: str, found: Found, shown: int) -> int:
    """Print it; how many differences nobody expects."""
    checked = ", ".join(f"{count:,} {what}" for what, count in sorted(found.checked.items()))
    if not found.checked["scores"] and not found.checked["tables"]:
        found.differences.append("nothing to compare")
    left, explained = sort_out(found.differences)
    total = len(left)
    verdict = f"{total:,} DIFFERENCES" if total else "equal"
    but = f" but for {explained.total():,} that are meant" if explained else ""
    print(f"{name}: {verdict}{but} (compared: {checked})")
    for line in left[:shown]:
        print(f"  ! {line}")
    if total > shown:
        print(f"  ! and {total - shown:,} more")
    for one, count in explained.items():
        print(f"  = {one.what} ({count:,}): {one.why}")
    if not left:
        values = found.checked["scores"] + found.checked["sets"] + found.checked["numbers"]
        compared = [line for line in found.differences if not line.endswith(NEW_ROW)]
        other = sum(": no row -> " not in line for line in compared)
        print(f"  all other {values - other:,} values equal")
    for line, count in found.notes.most_common(NOTED):
        print(f"  - {line} ({count:,})")
    if (rest := len(found.notes) - NOTED) > 0:
        print(f"  - and {rest:,} more")
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", metavar="OLD", help="a checkout or a revision")
    parser.add_argument("new", metavar="NEW", help="a checkout or a revision")
    parser.add_argument("--work", type=Path, help="where results are made and kept")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--python", type=Path, help="the Python of both")
    parser.add_argument("--old-python", type=Path)
    parser.add_argument("--new-python", type=Path)
    parser.add_argument("--sample", type=Path, default=SAMPLE, help="excerpt of the release")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="published weights")
    parser.add_argument(
        "--renamed", action="append", default=[], metavar="OLD=NEW", help="metric, column or key"
    )
    parser.add_argument(
        "--same-text", action="append", default=[], metavar="'OLD KIND => NEW KIND'"
    )
    parser.add_argument("--compare-only", action="store_true", help="what lies in --work")
    parser.add_argument("--show", type=int, default=SHOWN, help="differences printed per part")
    given = parser.parse_args()
    names = given.only.split(",")
    if unknown := set(names) - set(PARTS):
        parser.error(f"--only: no part is called {', '.join(sorted(unknown))}")
    folder = (given.work or Path(tempfile.mkdtemp(prefix="compare-trees-"))).absolute()
    print(f"work: {folder}")
    weights = given.weights.absolute() if given.weights.is_dir() else None
    old, new = (
        find_tree(name, side, folder, python or given.python, weights, ready=not given.compare_only)
        for name, side, python in (
            (given.old, "old", given.old_python),
            (given.new, "new", given.new_python),
        )
    )
    total = 0
    for name in names:
        sample = given.sample.absolute() if given.sample.is_dir() else None
        if name == "excerpt" and sample is None:
            print(f"excerpt: left out ({given.sample} is not there)")
            continue
        if not given.compare_only:
            for tree in (old, new):
                work(tree, name, sample)
        renamed = dict(one.split("=", 1) for one in given.renamed)
        found = compare(old.work / name, new.work / name, renamed, given.same_text)
        total += tell(name, found, given.show)
    print(f"{total:,} differences" if total else "no difference that is not meant")
    raise SystemExit(1 if total else 0)


if __name__ == "__main__":
    main()

"""Kill `medebench run` with SIGKILL at random moments, continue, and compare with a quiet run.

    python tools/kill_and_continue.py --kills 50

After every kill the ledgers are read: a row that was there must be there, unchanged to its
duration, in the end (nothing lost, nothing done twice). In the end pictures and ledgers must equal
those of an undisturbed run (durations aside). Exit code 0 if all of it holds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

PLAN = """
cases: {cases}
editors: [noise, inpaint, blur]
outputs: 2
judge: offline
report: {report}
"""
QUERIES = {
    "cases": "SELECT case_id, organ, task, digest, source FROM cases",
    "outputs": "SELECT case_id, k, sha256, reason, seed, detail, seconds FROM outputs",
    "scores": "SELECT case_id, k, metric, output, value, reason, detail, cost, seconds FROM scores",
}
Rows = dict[tuple[str, str], set[tuple[object, ...]]]


def command(plan: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "medebench", "run", str(plan), "--out", str(out), "--json"]


def rows(out: Path) -> Rows:
    """Every row of every ledger, durations included."""
    found: Rows = {}
    for ledger in sorted(out.glob("runs/*/ledger.sqlite")):
        try:
            with closing(sqlite3.connect(ledger)) as db:
                for table, query in QUERIES.items():
                    found[ledger.parent.name, table] = set(db.execute(query))
        except sqlite3.OperationalError:
            # Killed before the tables were made: there is nothing to lose yet.
            continue
    return found


def without_time(found: Rows) -> Rows:
    return {
        key: {row if key[1] == "cases" else row[:-1] for row in one} for key, one in found.items()
    }


def pictures(out: Path) -> dict[str, str]:
    files = sorted(path for path in out.glob("runs/*/edits/*") if path.is_file())
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def disturbed(plan: Path, out: Path, longest: float, generator: random.Random, most: int) -> int:
    """Start, kill, compare, until a start comes to its end; returns the number of kills."""
    kills, known = 0, Rows()
    while True:
        process = subprocess.Popen(
            command(plan, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            _, errors = process.communicate(
                timeout=generator.uniform(0.05, longest) if kills < most else 300
            )
            if process.returncode != 0:
                raise SystemExit(f"continuing failed: {errors.decode()[-500:]}")
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
        now = rows(out)
        for key, before in known.items():
            if lost := before - now.get(key, set()):
                raise SystemExit(f"{key}: {len(lost)} rows lost or done twice: {next(iter(lost))}")
        known = now
        if process.returncode == 0:
            return kills


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", default="phantoms:count=39,seed=5")
    parser.add_argument("--report", action="store_true", help="also write the report each time")
    given = parser.parse_args()
    generator = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = folder / "plan.yaml"
        plan.write_text(PLAN.format(cases=given.cases, report=str(given.report).lower()))
        quiet = folder / "quiet"
        # The first start draws and compiles; the second tells how long the work takes.
        subprocess.run(command(plan, folder / "first"), check=True, stdout=subprocess.DEVNULL)
        begin = time.perf_counter()
        subprocess.run(command(plan, quiet), check=True, stdout=subprocess.DEVNULL)
        longest = (time.perf_counter() - begin) * 0.9
        expected, seen = without_time(rows(quiet)), pictures(quiet)
        kills, rounds = 0, 0
        while kills < given.kills:
            out = folder / f"disturbed-{rounds}"
            kills += disturbed(plan, out, longest, generator, given.kills - kills)
            rounds += 1
            if without_time(rows(out)) != expected:
                raise SystemExit(f"{out.name}: the ledgers differ from the undisturbed run's")
            if pictures(out) != seen:
                raise SystemExit(f"{out.name}: the pictures differ from the undisturbed run's")
        total = sum(map(len, expected.values()))
        print(
            f"{kills} kills over {rounds} runs: {len(seen)} pictures and {total} ledger rows equal "
            "those of the undisturbed run; nothing lost, nothing twice"
        )


if __name__ == "__main__":
    main()

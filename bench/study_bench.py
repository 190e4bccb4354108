"""How long a save in the study's panel takes while fifty people save without a pause.

Server, database and the fifty people (one process that speaks HTTP by hand) share the machine.
A time is from the request's first byte to the answer, which comes after the disk has the ranking.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

STUDY_TESTS = Path(__file__).parent.parent / "tests" / "study"
PEOPLE = 50


@dataclass(frozen=True)
class Row:
    database: str
    saves: int
    #: Other answers than "saved", and connections that broke.
    failed: int
    per_second: float
    #: Milliseconds.
    p50: float
    p95: float
    p99: float


def run(seconds: float = 8.0) -> list[Row]:
    """SQLite, and PostgreSQL where its binaries are on this machine."""
    rows = [_measure("SQLite", None, seconds)]
    with _script("postgres.py") as server:
        assert server.stdout is not None
        if url := server.stdout.readline().strip():
            rows.append(_measure("PostgreSQL", url, seconds))
    return rows


def bench_study() -> None:
    rows = run()
    for row in rows:
        print(
            f"Study, {PEOPLE} annotators saving without a pause, {row.database}: a save takes "
            f"{row.p50:.0f} ms (median), {row.p95:.0f} ms (95 %), {row.p99:.0f} ms (99 %); "
            f"{row.per_second:.0f} saves a second, {row.failed} of {row.saves} failed"
        )
    if len(rows) == 1:
        print("There is no PostgreSQL on this machine: not measured.")


def _measure(name: str, database: str | None, seconds: float) -> Row:
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(Path(scratch) / "study")
        with _script("small.py", folder, f"--annotators={PEOPLE}", "--outputs=4") as made:
            made.wait()
        with _script("server.py", folder, database or "") as server:
            assert server.stdout is not None
            told = server.stdout.readline()
            with _script("load.py", f"--seconds={seconds}") as load:
                answer = json.loads(load.communicate(told)[0])
    times = np.array(answer["seconds"]) * 1e3
    p50, p95, p99 = np.percentile(times, (50, 95, 99))
    failed = len(answer["problems"]) + answer["broken"]
    return Row(name, len(times), failed, len(times) / answer["elapsed"], p50, p95, p99)


@contextmanager
def _script(name: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    call = [sys.executable, str(STUDY_TESTS / name), *words]
    process = subprocess.Popen(call, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    with process:
        try:
            yield process
        finally:
            if name == "postgres.py":
                process.communicate()  # the end of its input ends it, and it tidies up
            else:
                process.terminate()


if __name__ == "__main__":
    bench_study()

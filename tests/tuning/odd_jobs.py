"""Pieces of work for processes that do not always come to a good end."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from medebench.errors import InputError
from medebench.progress import Progress


@dataclass(frozen=True)
class OddJob:
    name: str
    out: Path
    how: str = "fine"
    size: int = 2

    def do(self, device: str, threads: int, progress: Progress) -> None:
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "exits":
            os._exit(3)
        if self.how == "refuses":
            raise InputError("it: is wrong; mend it")
        if self.how == "breaks":
            raise ZeroDivisionError("by nothing")
        if self.how == "stays":
            # As diffusers shows its steps, which nobody sees here.
            tqdm(disable=True).close()
        (self.out / self.name).write_text(f"{os.getpid()} {device} {threads}")
        if self.how == "stays":
            time.sleep(600)
        progress(1, 2)


if __name__ == "__main__":
    import sys

    from medebench.progress import silent
    from medebench.tuning.tuning_workers import Place, in_processes
    from tests.tuning.odd_jobs import OddJob as Job

    jobs = [Job(name, Path(sys.argv[1]), "stays") for name in "ab"]
    list(in_processes(jobs, [Place("cpu", 1)] * 2, silent))

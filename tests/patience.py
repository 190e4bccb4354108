"""How long tests wait: until it has happened, however busy the machine is.

The bound only ends a test that would otherwise hang for ever. It is the time-out to give to
processes, threads and to the product itself wherever nothing may run out of time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0
#: For servers of which some answers never come: what does come must come within this.
TROUBLED = 12.0


def wait_until(true: Callable[[], Any], what: str = "it") -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come about in {PATIENCE:g} s")
        time.sleep(0.02)

"""Too many failures from one address."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable


class FailureLimit:
    """At most `most` failures in `seconds` from one address; then it has to wait."""

    def __init__(
        self,
        most: int = 10,
        seconds: float = 60.0,
        *,
        addresses: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._addresses = addresses
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}

    def wait(self, address: str) -> int:
        """Whole seconds until another try is looked at; 0 = now."""
        times = self._failures.get(_network(address))
        if times is None or len(times) < self._most:
            return 0
        return max(0, math.ceil(times[0] + self._seconds - self._clock()))

    def failed(self, address: str) -> None:
        """Counted before it is known to fail, so that many at once count as many."""
        network = _network(address)
        times = self._failures.pop(network, None) or deque(maxlen=self._most)
        times.append(self._clock())
        # Last in the dict: the first one is then the one that has been quiet longest.
        self._failures[network] = times
        while len(self._failures) > self._addresses:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, address: str) -> None:
        """Takes the last count back."""
        times = self._failures.get(_network(address))
        if times:
            times.pop()
        if not times:
            self._failures.pop(_network(address), None)


def _network(address: str) -> str:
    """One IPv4 address, or the IPv6 network that a single customer gets."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)

"""What the routes share, and who is asking."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from medebench.study.design import Study
from medebench.study.server.admin_overview import Overview
from medebench.study.server.answer_store import Store, Writer
from medebench.study.server.people import ADMIN
from medebench.study.server.security import Problem, forgery_token, hashed, session_of

_MOST_SEEN = 10_000
SIGN_IN = "You are not signed in; open your invitation link again."


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
        self._most, self._seconds = most, seconds
        self._addresses, self._clock = addresses, clock
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


@dataclass
class Service:
    study: Study
    store: Store
    writer: Writer
    overview: Overview
    #: Scheme, host and port that people see, where a proxy stands before the server.
    origin: str | None = None
    sign_in_failures: FailureLimit = field(default_factory=FailureLimit)
    #: Hash of a session -> name. A session never changes hands, but it may have ended.
    seen: dict[str, str] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        return cookie_name(self.study)


@dataclass(frozen=True)
class Visitor:
    """Somebody who is signed in."""

    name: str
    #: Hash of their session.
    session: str
    #: What their pages send along with every change.
    forgery_token: str


def cookie_name(study: Study) -> str:
    # Browsers do not tell the ports of a machine apart: two studies must not share a cookie.
    return f"medebench_session_{study.fingerprint[:8]}"


async def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def visitor(request: Request) -> Visitor | None:
    """Who asks, as the database knows at this moment."""
    service = await service_of(request)
    session = session_of(request.headers, service.cookie)
    if session is None:
        return None
    name = await run_in_threadpool(service.store.who, session)
    if name is None:
        return None
    if len(service.seen) > _MOST_SEEN:
        service.seen.clear()
    service.seen[hashed(session)] = name
    return Visitor(name, hashed(session), forgery_token(session))


async def annotator(request: Request) -> Visitor:
    found = await _signed_in(request)
    if found.name == ADMIN:
        raise Problem(403, "This page is for annotators; you are signed in as the administrator.")
    return found


async def saver(request: Request) -> Visitor:
    """An annotator who was signed in a moment ago.

    Only for saving, which looks in its own transaction whether the session is still there: that
    spares the most frequent request a way to the database.
    """
    service = await service_of(request)
    session = session_of(request.headers, service.cookie)
    name = None if session is None else service.seen.get(hashed(session))
    if session is None or name is None or name == ADMIN:
        return await annotator(request)
    return Visitor(name, hashed(session), forgery_token(session))


async def administrator(request: Request) -> Visitor:
    found = await _signed_in(request)
    if found.name != ADMIN:
        raise Problem(403, "This page is for the administrator of the study.")
    return found


async def _signed_in(request: Request) -> Visitor:
    found = await visitor(request)
    if found is None:
        raise Problem(401, SIGN_IN)
    return found


#: For signatures of routes.
AService = Annotated[Service, Depends(service_of)]
AnAnnotator = Annotated[Visitor, Depends(annotator)]
ASaver = Annotated[Visitor, Depends(saver)]
AnAdministrator = Annotated[Visitor, Depends(administrator)]

"""The address a model answers at: where it is, and what of it may be shown."""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from medebench.errors import InputError
from medebench.models.secret import Secret


@dataclass(frozen=True)
class Endpoint:
    """`url` is safe to show and to log: user, password and query are kept apart."""

    url: str
    is_official: bool
    is_local: bool
    login: Secret | None = None
    query: Secret | None = None

    @property
    def needs_key(self) -> bool:
        """Own servers rarely ask for one, and say so (401) where they do."""
        return self.is_official or not (self.is_local or self.url.startswith("http://"))

    @property
    def secrets(self) -> list[Secret]:
        found = []
        if self.login is not None:
            user, _, password = self.login.reveal().partition(":")
            found += [self.login, Secret(password or user)]
        if self.query is not None:
            values = [pair.partition("=")[2] for pair in self.query.reveal().split("&")]
            found += [self.query, *map(Secret, values)]
        return found

    def headers(self) -> dict[str, str]:
        """The login as a header: in the URL, HTTP libraries would log it."""
        if self.login is None:
            return {}
        encoded = base64.b64encode(self.login.reveal().encode()).decode()
        return {"Authorization": f"Basic {encoded}"}

    def parameters(self) -> dict[str, str]:
        return dict(parse_qsl(self.query.reveal())) if self.query is not None else {}


def read_endpoint(given: str, where: str = "--base-url", official: str = "") -> Endpoint:
    """The address in `given`; `where` it was given is for the message, should it be none."""
    try:
        parts = urlsplit(given)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"{where}: expected something like http://localhost:8000/v1")
    netloc = parts.netloc.rpartition("@")[2].lower()
    url = urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", ""))
    login = _login(parts)
    return Endpoint(
        url=url,
        is_official=url == official,
        is_local=_is_local(host),
        login=Secret(login) if login else None,
        query=Secret(parts.query) if parts.query else None,
    )


def _login(parts: SplitResult) -> str:
    if not parts.username and not parts.password:
        return ""
    return f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"


def _is_local(host: str) -> bool:
    if ":" in host or host.replace(".", "").isdecimal():
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address.is_loopback or address.is_private or address.is_link_local
    # A name without a dot is a container or a machine of this network.
    return "." not in host or host.endswith((".localhost", ".local"))

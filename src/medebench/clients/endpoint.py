"""The address a model answers at: where it is, and what of it may be shown."""

from __future__ import annotations

import base64
import ipaddress
import os
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from medebench.clients.secret import Secret
from medebench.errors import InputError

#: The vendors' own addresses, and the variable each SDK lets a user move it with.
OFFICIAL = {
    "openai": ("https://api.openai.com/v1", "OPENAI_BASE_URL"),
    "gemini": ("https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL"),
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_BASE_URL"),
}


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
        from urllib.parse import parse_qsl

        return dict(parse_qsl(self.query.reveal())) if self.query is not None else {}


def find_endpoint(vendor: str, base_url: str | None = None) -> Endpoint:
    """From `base_url`, else the SDK's variable, else the vendor's own address."""
    official, variable = OFFICIAL[vendor]
    given = base_url or os.environ.get(variable, "").strip() or official
    where = "--base-url" if base_url else variable
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
    from urllib.parse import unquote

    if not parts.username and not parts.password:
        return ""
    return f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"


def _is_local(host: str) -> bool:
    if ":" in host or host.replace(".", "").isdecimal():
        return _is_private(host)
    # A name without a dot is a container or a machine of this network.
    return "." not in host or host.endswith((".localhost", ".local"))


def _is_private(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_link_local

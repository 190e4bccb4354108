"""Secrets that people carry: made at random, kept as hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets


def new_token() -> str:
    """256 random bits: cannot be guessed, so a plain hash of it cannot be reversed either."""
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def forgery_token(session: str) -> str:
    """What a page must send along to show that it could read what the session may read.

    It follows from the session's secret, so it needs no storing, ends with the session and tells
    nothing about it.
    """
    key = session.encode("utf-8", "surrogatepass")
    return hmac.new(key, b"medebench: not forged", hashlib.sha256).hexdigest()

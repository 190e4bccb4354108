"""Editors that run elsewhere: a command with an environment of its own, or a server."""

"""From people's ranks to statements."""

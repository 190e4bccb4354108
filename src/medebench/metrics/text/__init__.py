"""Metrics of texts: pure functions of an answer and its reference."""

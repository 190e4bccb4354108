"""Encoders: networks that turn pictures and texts into vectors, one interface for all metrics."""

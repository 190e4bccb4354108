"""Phantoms, the small models that ship with the package, and stress tests on them."""

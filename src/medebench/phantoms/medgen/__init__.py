"""Phantoms of the 16 tasks of MedGEN-Bench, drawn by code, with exact answers."""

#: Changes whenever the same seed gives another picture or another text.
VERSION = 1

"""Chest radiographs drawn by code: patient, finding, device and hospital apart, all masks exact."""

from medebench.cases.phantoms.chest.render import SIZE, VERSION, ChestPhantom, render
from medebench.cases.phantoms.chest.spec import ChestSpec

__all__ = ["SIZE", "VERSION", "ChestPhantom", "ChestSpec", "render"]

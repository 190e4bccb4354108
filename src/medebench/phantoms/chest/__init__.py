"""Chest radiographs drawn by code: patient, finding, device and hospital apart, all masks exact."""

from medebench.phantoms.chest.chest_renderer import SIZE, VERSION, ChestPhantom, render
from medebench.phantoms.chest.chest_spec import ChestSpec

__all__ = ["SIZE", "VERSION", "ChestPhantom", "ChestSpec", "render"]

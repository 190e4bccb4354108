"""The chest model: a small text-to-image diffusion model of chest phantoms, and how it is made."""

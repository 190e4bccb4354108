"""The built-in editor: a small text-conditioned diffusion model of phantoms, and how it is made."""

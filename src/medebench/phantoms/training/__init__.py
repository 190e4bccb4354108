"""Training: the small models that ship with the package."""

"""Training: the small editor that ships with the package."""

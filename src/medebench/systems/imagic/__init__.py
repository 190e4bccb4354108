"""Imagic: the model learns one picture, then moves from it towards the text."""

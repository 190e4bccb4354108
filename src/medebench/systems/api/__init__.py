"""Editors that are asked over the network: a model behind a vendor's API, or one that speaks it."""

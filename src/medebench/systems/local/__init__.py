"""Models that answer on this machine."""

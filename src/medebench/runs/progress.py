from medebench.progress import Progress, silent

__all__ = ["Progress", "silent"]

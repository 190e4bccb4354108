"""The parts of `tools/compare_trees.py`."""

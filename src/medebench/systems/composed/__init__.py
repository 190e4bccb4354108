"""Editors around another editor: its instruction is rewritten, or its outputs are judged."""

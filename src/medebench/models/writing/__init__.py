"""Texts that models write for the data builder: change descriptions and paraphrases."""

"""The chest encoder: a small model that sees chest phantoms and reads texts, and how it is made."""

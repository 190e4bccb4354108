"""The three shifts of RadEdit as stress tests on phantoms, written as a user would write theirs."""

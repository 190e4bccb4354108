"""How work is carried out, apart from what it is: stages travel, executors are exchanged."""

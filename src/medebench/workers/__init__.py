"""Programs and servers of the user that do part of the work."""

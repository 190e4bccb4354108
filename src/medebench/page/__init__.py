"""What every page, table and figure is made of."""

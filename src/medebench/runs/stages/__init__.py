"""What there is to do with a case and its outputs: one file a stage."""

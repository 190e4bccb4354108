"""What each family of pipelines is trained on; one file a family."""

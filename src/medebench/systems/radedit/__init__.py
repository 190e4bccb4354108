"""RadEdit: a real picture edited under two masks by a text-to-image model; see path.py first."""

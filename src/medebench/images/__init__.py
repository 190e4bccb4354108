"""Image files in and out of memory."""

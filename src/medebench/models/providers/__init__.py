"""The providers that come with medebench; others are found by entry point or in a user's file."""

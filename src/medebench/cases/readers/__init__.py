"""One file a format; each turns a path into a CaseSet."""

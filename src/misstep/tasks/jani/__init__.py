"""Models in JANI: read, checked and compiled for the native engine."""

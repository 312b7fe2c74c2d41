"""The `misstep` command: one verb a file, each a thin caller of the API."""

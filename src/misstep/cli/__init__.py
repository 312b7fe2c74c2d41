"""The `misstep` command. Each verb has a file of its own and is a thin layer over the API."""

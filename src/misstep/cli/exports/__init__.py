"""The verbs of `misstep export`, a file each."""

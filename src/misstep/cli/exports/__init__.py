"""The verbs of `misstep export`, one file each."""

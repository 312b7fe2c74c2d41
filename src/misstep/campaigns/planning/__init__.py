"""The stages of campaigns on planning tasks, and the work of their units."""

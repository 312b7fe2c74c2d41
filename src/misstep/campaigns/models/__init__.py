"""The stages of campaigns on models, and the work of their units."""

"""What a model supplies to the engine: its stages, and the work of their units."""

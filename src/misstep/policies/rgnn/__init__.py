"""Relational networks of other authors: weights as safetensors, their shape as JSON; nothing is unpickled."""

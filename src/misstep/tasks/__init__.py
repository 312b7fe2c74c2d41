"""Tasks of both worlds: reading PDDL, SAS and JANI files, states, and generators of the built-in domains and models."""

"""Planning tasks and models: read PDDL, SAS and JANI files, represent states, generate built-in tasks and models."""

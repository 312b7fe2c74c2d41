"""Everything that touches PDDL text: translation to SAS, the lifted view, errors that name the line."""

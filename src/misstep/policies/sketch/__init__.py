"""Sketches of width 0 in DLPlan's text format, evaluated by the native core: `sketch:--width=0 FILE`."""

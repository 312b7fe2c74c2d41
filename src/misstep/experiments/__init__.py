"""Experiments of papers on one command: what is measured, how it is reported, and what the paper says about it.

A definition (`definitions/*.toml`, or a user's own file) is data: rows (models or tasks with policies), steps of
kinds, tables, figures, claims. The driver cuts the steps into units, each a pure function of what it is given, runs
them on local processes and keeps every result in a database; the report is a pure function of that database.

    definition.py, schema.py, lines.py   reading a definition; errors name file and line
    kinds/                               what a step can be: units(step, rows, seeds), run(unit), observations
    store.py, driver.py, worker.py       doing units, so that a kill at any moment loses at most those under way
    expressions.py                       the small language of tables, figures and claims
    report.py, tables.py, figures.py, claims.py   what is made of stored results
"""

"""Run the experiments of papers with one command: measurements, reports, and a comparison with the paper's claims.

A definition (`definitions/*.toml`, or a file of the user) is data: rows (models or tasks with policies), steps, tables,
figures, claims. The driver splits the steps into units, which are pure functions of their inputs, runs them in local
processes and stores every result in a database; the report is a pure function of that database.

    definition.py, schema.py, lines.py   reading a definition; errors name file and line
    kinds/                               what a step can be: units(step, rows, seeds), run(unit), observations
    store.py, driver.py, worker.py       doing units, so that a kill at any moment loses at most those under way
    expressions.py                       the small language of tables, figures and claims
    report.py, tables.py, figures.py, claims.py   what is made of stored results
"""

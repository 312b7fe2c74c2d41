"""The site of the documentation: `make docs` builds it from the Markdown in `docs/` and from the code.

`pages.py` says which pages there are and how they are linked, `commands.py` and `api.py` write the reference that is
made from the code, `graph.py` draws the import graph, and `build.py` hands all of it to Sphinx.
"""

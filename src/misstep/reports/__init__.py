"""Reports on campaigns for people and other programs: pages, tables, figures, files for other tools."""

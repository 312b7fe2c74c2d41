"""The report: one HTML file that shows what campaigns found, works offline and asks nobody for anything."""

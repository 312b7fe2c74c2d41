"""The report: one HTML file that shows what campaigns found, works offline and loads nothing from the network."""

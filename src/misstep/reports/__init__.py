"""What a person or another program reads of campaigns: pages, tables, figures, files of other tools."""

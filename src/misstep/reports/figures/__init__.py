"""Figures of campaigns, drawn without another library: `charts` lays them out, `svg` and `pdf` write them."""

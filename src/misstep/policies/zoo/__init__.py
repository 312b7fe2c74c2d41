"""Small policies of every family that we wrote or trained ourselves, with known bugs. `index.json` lists them."""

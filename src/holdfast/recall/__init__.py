"""Finding the right memory first: arms that gather, one scale to rank on, reasons with each hit."""

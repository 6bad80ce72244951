"""What answers questions; `choose.py` picks. Importing one of these imports no vendor's package."""

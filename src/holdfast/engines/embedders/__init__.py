"""What turns texts into vectors; `choose.py` picks. Importing one of these loads no weights."""

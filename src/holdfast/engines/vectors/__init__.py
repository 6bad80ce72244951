"""Vectors in files: `files.py` answers for a project, `cache.py` remembers what a slow embedder made.

Only whoever imports one of its modules pays for numpy; importing this package does not.
"""

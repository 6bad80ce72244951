"""Tokenizers whose vocabulary comes with a package."""

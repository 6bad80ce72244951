"""Agents and what is written about their work: the front matter of workflows."""

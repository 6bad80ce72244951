"""Compose: what is offered for each section, packed into a budget, rendered, with a receipt."""

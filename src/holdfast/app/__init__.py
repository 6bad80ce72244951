"""The verbs: each reads as what it does, and only `open` names an engine."""

"""Which file paths, errors and commands of some work are still named in a text."""

from __future__ import annotations

from bench.key_terms import held, key_terms

SORTS = ("path", "error", "command")
#: of each sort: how many are named, of how many
Named = dict[str, tuple[int, int]]


def named_in(whole: str, window: str) -> Named:
    """The terms of a whole that stand in a window, by sort; escaped JSON counts as what it says."""
    terms = {term: sort for term, sort in key_terms(whole).items() if sort in SORTS}
    plain = window.replace("\\n", "\n").replace('\\"', '"')
    found = held(terms, window) | held(terms, plain)
    return {
        sort: (
            sum(term in found for term, of in terms.items() if of == sort),
            sum(of == sort for of in terms.values()),
        )
        for sort in SORTS
    }

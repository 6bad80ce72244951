"""Which compactions of a session count, decided alike by everybody who folds its events.

A compaction names the one it follows. It counts if that is the last one that counts: of two that follow
the same one, the second does not. Where the one it follows is not in the log any more, because its line
is damaged, the first that follows it counts, or everything behind it would be lost with it.
"""

from __future__ import annotations

from typing import Any

#: compactions of a session that are known by name; so many are not faster than one that is under way
_MOST = 64
_LONGEST = 200


def missed(follows: Any, past: str, seen: tuple[str, ...]) -> bool:
    """Does it follow one that the log cannot show?"""
    named = isinstance(follows, str) and 0 < len(follows) <= _LONGEST
    return named and follows != past and follows not in seen


def counts(follows: Any, past: str, seen: tuple[str, ...]) -> bool:
    """Does a compaction count that follows that one?"""
    return bool(follows == past) or missed(follows, past, seen)


def seen_too(seen: tuple[str, ...], event_id: str, follows: Any = "") -> tuple[str, ...]:
    """What was seen with a compaction, and with the one it followed."""
    named = follows if isinstance(follows, str) and len(follows) <= _LONGEST else ""
    return tuple(dict.fromkeys(filter(None, (*seen, named, event_id))))[-_MOST:]

"""From records as they lie to events in order, with everything odd said aloud.

Nearly always the records lie in order, and this passes them on. At the first hole it looks once
through the rest for records that lie too late; they are handed out at their place. A seq met a second
time is a duplicate: the first one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.model.events import Damage

from .pieces import Piece

Found = Iterator[Piece | Damage]


def in_order(found: Found, again: Callable[[], Found], after: int, dropped: int = 0) -> Found:
    """Every record behind `after` once, by seq; `again` gives the same pieces a second time.

    Up to `dropped` a missing seq was dropped by a retention and is no gap.
    """
    expected = after + 1
    late: dict[int, Piece] | None = None
    for piece in found:
        if isinstance(piece, Damage):
            yield piece
            continue
        seq = piece.seq
        if seq == expected:
            yield piece
        elif seq > expected:
            if late is None:
                late = _late_pieces(again(), after)
            yield from _fill(expected, piece, late, dropped)
            yield piece
        else:
            taken = late.get(seq) if late else None
            if seq > after and (taken is None or _place(taken) != _place(piece)):
                yield _said("duplicate", piece, seq, seq)
            continue
        expected = seq + 1


def each_id_once(found: Found, again: Callable[[], Found]) -> Found:
    """The same without a second record of an id, whatever its seq.

    Hashes are remembered, not ids, to stay small; two ids of one hash are told apart by looking.
    """
    seen: set[int] = set()
    for piece in found:
        if isinstance(piece, Damage):
            yield piece
            continue
        known = hash(piece.event_id)
        if known in seen and _is_second(piece, again()):
            yield _said("duplicate", piece, piece.seq, piece.seq)
            continue
        seen.add(known)
        yield piece


def _is_second(piece: Piece, found: Found) -> bool:
    return any(
        not isinstance(other, Damage) and other.seq < piece.seq and other.event_id == piece.event_id
        for other in found
    )


def _late_pieces(found: Found, after: int) -> dict[int, Piece]:
    """The records that lie behind one with a higher seq; of equal ones the first."""
    late: dict[int, Piece] = {}
    holes: list[range] = []
    highest = after
    for piece in found:
        if isinstance(piece, Damage) or piece.seq <= after:
            continue
        if piece.seq > highest:
            if piece.seq > highest + 1:
                holes.append(range(highest + 1, piece.seq))
            highest = piece.seq
        elif piece.seq not in late and any(piece.seq in hole for hole in holes):
            late[piece.seq] = piece
    return late


def _fill(expected: int, before: Piece, late: dict[int, Piece], dropped: int) -> Found:
    for seq in sorted(seq for seq in late if expected <= seq < before.seq):
        if seq > max(expected, dropped + 1):
            yield _said("gap", before, expected, seq - 1)
        yield _said("out_of_order", late[seq], seq, seq)
        yield late[seq]
        expected = seq + 1
    if max(expected, dropped + 1) < before.seq:
        yield _said("gap", before, expected, before.seq - 1)


def _place(piece: Piece) -> tuple[str, int]:
    return piece.segment, piece.offset


def _said(reason: str, piece: Piece, first: int, last: int) -> Damage:
    length = len(piece.record) if reason != "gap" else 0
    return Damage(
        reason=reason,
        segment=piece.segment,
        offset=piece.offset,
        length=length,
        first_seq=first,
        last_seq=last,
    )

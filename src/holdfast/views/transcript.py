"""The transcript window: where a conversation's latest events lie.

It holds positions, not words: the words are in the log. The window is bounded, so a row stays small
however long a session runs; whoever asks for more reads the log from the session's beginning.
"""

from __future__ import annotations

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Said, Transcript

from .view import PerSession, Rows, brief

#: what a conversation is made of; the rest is about it
SPOKEN = frozenset(
    {
        "user_message",
        "model_message",
        "tool_call",
        "tool_result",
        "validation_gate",
        "system_event",
        "decision",
        "error",
        "task_completed",
        "memory_recall",
    }
)
#: how many events a row reaches back: more than fit most windows, few enough to rewrite each time
EVENTS = 200
#: and how many turns
TURNS = 50
#: of what a person said last, so much is kept
LONGEST = 500


class Transcripts(PerSession):
    """One window for each session."""

    name = "transcript"
    version = 1
    kinds = SPOKEN
    row = Transcript

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Add the event; let the oldest go."""
        (key,) = self.keys(event)
        known: Transcript = rows[key] or Transcript()
        seq = event.event_seq
        if event.kind == "user_message":
            asked = Said(event_seq=seq, kind=event.kind, text=brief(event.text, LONGEST))
            known = msgspec.structs.replace(
                known, turn_starts=(*known.turn_starts[-(TURNS - 1) :], seq), unanswered=asked
            )
        elif event.kind == "model_message" and known.unanswered is not None:
            known = msgspec.structs.replace(known, unanswered=None)
        cut = known.cut or len(known.seqs) >= EVENTS
        seqs = (*known.seqs[-(EVENTS - 1) :], seq)
        return {key: msgspec.structs.replace(known, seqs=seqs, cut=cut)}

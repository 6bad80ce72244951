"""Validation gates: how each one stands."""

from __future__ import annotations

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Gate

from .view import NOTHING, PerSession, Rows, brief

#: the latest ones; no workflow has so many
MOST = 100


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """A session's gates by name, in the order they were first met."""

    gates: tuple[Gate, ...] = ()


class GateView(PerSession):
    """One row for each session."""

    name = "gates"
    version = 1
    kinds = frozenset({"validation_gate"})
    row = Gates

    def apply(self, rows: Rows, event: Event) -> Rows:
        """The gate as it stands now."""
        (key,) = self.keys(event)
        said = event.payload if isinstance(event.payload, dict) else {}
        if "gate" not in said:
            return NOTHING
        known: Gates = rows[key] or Gates()
        name = brief(str(said["gate"]), 100)
        before = next((gate for gate in known.gates if gate.gate == name), None)
        now = Gate(
            gate=name,
            passed=said.get("passed") is True,
            at=event.timestamp,
            event_seq=event.event_seq,
            attempts=(before.attempts if before else 0) + 1,
            note=brief(event.text, 500),
        )
        if before is None:
            return {key: Gates(gates=(*known.gates[-(MOST - 1) :], now))}
        return {key: Gates(gates=tuple(now if g is before else g for g in known.gates))}

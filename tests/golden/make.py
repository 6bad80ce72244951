"""Makes the golden log of today's format, once: `python -m tests.golden.make`.

The files it writes are a promise: whatever Holdfast becomes, it reads them as it reads them now. They
are made again only for a new version of the format, under a new name.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from holdfast.model.events import Event
from tests.contract.entries import entry, erasure, events_of, file_log

HERE = Path(__file__).parent


def as_json(event: Event) -> dict[str, Any]:
    """Every field of an event."""
    said = msgspec.to_builtins(event)
    assert isinstance(said, dict)
    said.pop("erased", None)
    return said


def main() -> None:
    """Write v2.ndjson (plain), v2-chained.ndjson, and what each reads as."""
    for name, chained in (("v2", False), ("v2-chained", True)):
        with tempfile.TemporaryDirectory() as place:
            log = file_log(Path(place) / "log", chained=chained)
            fill(log)
            lines = b"".join(p.read_bytes() for p in sorted(Path(log.folder).glob("events-*")))
            (HERE / f"{name}.ndjson").write_bytes(lines)
            expected = [as_json(event) for event in events_of(log)]
            text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
            (HERE / f"{name}.json").write_text(text + "\n", "utf-8")
            anchors = Path(place) / "log.anchors"
            if anchors.exists():
                (HERE / f"{name}.anchors").write_bytes(anchors.read_bytes())
            log.close()


def fill(log: Any) -> None:
    """Twenty events: every kind of header and payload, two of them erased."""
    payloads: list[dict[str, Any]] = [
        {"text": "Use PostgreSQL 18, not 15."},
        {"text": "Grüße, 世界 \U0001f30d, e\u0301, \u2028 \u0085 \ufeff"},
        {"text": 'quotes " and \\ and \n\r\t\b\f and \x00\x1f\x7f'},
        {"text": "", "n": [0, -1, 9007199254740992, 1.5, -0.0, 1e308, 5e-324, None, True, False]},
        {"a": {"b": {"c": [[[{"d": {}}]]]}}, "": {"": ""}, "é": 1, "z": 2},
        {
            "_as_given": [{"path": "/text", "why": "invalid_utf8", "base64": "/w=="}],
            "text": "\ufffd",
        },
        {"crc": "deadbeef", "event_seq": 7, "v": 2},
        {},
    ]
    for n, payload in enumerate(payloads):
        log.append([entry(event_id=f"golden-{n}", payload=payload)])
    log.append(
        [
            entry("no one", "golden-none", session_id=None, agent=None, user=None),
            entry(
                "odd names", "golden:odd.1", session_id='s "1" \\', agent="ag\u2028ent", user="ü"
            ),
            entry(
                "derived",
                "golden-derived",
                origin="agent",
                trust=0,
                sources=("golden-0", "golden-1"),
            ),
            entry(
                "later", "golden-type", type="moon_phase@12", timestamp="0001-01-01T00:00:00.000Z"
            ),
        ]
    )
    log.append(
        [entry("to be erased", "golden-gone", user="subject"), entry("stays", "golden-stays")]
    )
    log.erase(
        ["golden-gone", "golden-none"], subject=erasure(["golden-gone", "golden-none"], "golden-by")
    )
    for n in range(4):
        log.append([entry("x" * 10**n, f"golden-size-{n}")])
    log.append([entry(event_id="golden-end", type="session_ended@1", origin="system", trust=2)])
    log.seal()


if __name__ == "__main__":
    main()

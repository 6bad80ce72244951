"""A hook and the engine write the same bytes: there is one format, not two that agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture.blob import keep_blob
from holdfast.capture.chain import Chain
from holdfast.capture.disk import Disk
from holdfast.capture.line import middle
from holdfast.capture.origin import ORIGINS
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Limits, Shaper
from holdfast.capture.writer import Writer
from holdfast.engines.clock import SystemClock, UlidIds
from holdfast.model.events import Draft
from holdfast.record.recorder import Recorder
from tests.contract.entries import KEY, WHEN, file_log, folder_for

PAYLOADS: list[dict[str, Any]] = [
    {"text": "plain"},
    {"text": "Grüße \U0001f30d \u2028 \x00 \ud800", "z": 1, "a": [1.5, None, True, {"b": {}}]},
    {"text": "x" * 5000, "n": 2**80, "f": float("inf")},
    {"text": b"\xff\xfe", "tool": "Bash", "input": {"command": "ls"}},
    {"tool": "Read", "input": {"file_path": "/app/.env"}, "text": "words to withhold"},
    {f"k{n}": "v" * 400 for n in range(20)},
    {},
]
LIMITS = Limits(text_chars=2000, payload_bytes=6000, edge_chars=100)


def drafts() -> list[Draft]:
    return [
        Draft(
            type=kind,
            payload=payload,
            origin=origin,
            session_id=f"ses é {n % 2}",
            agent='a "b"',
            user=None if n % 2 else "ana",
            at=WHEN,
            event_id=f"own-{n}",
        )
        for n, (payload, kind, origin) in enumerate(
            zip(
                PAYLOADS,
                [
                    "user_message",
                    "model_message",
                    "tool_result",
                    "tool_call",
                    "tool_call",
                    "x",
                    "y",
                ],
                ["user", "agent", "tool", "agent", "agent", "web", "system"],
                strict=True,
            )
        )
    ]


def as_a_hook_does(folder: str, chain: Chain | None) -> None:
    from holdfast.capture.withhold import denied_path, without_content

    disk, redactor = Disk(), Redactor(KEY)
    shaper = Shaper(redactor, lambda chunks: keep_blob(disk, folder, chunks), LIMITS)
    writer = Writer(folder, chain=chain)
    for draft in drafts():
        payload: Any = draft.payload
        denied = denied_path(payload, redactor)
        if denied is not None:
            payload = without_content(payload, denied, redactor)
        header = (
            draft.event_id,
            draft.session_id,
            draft.agent,
            draft.user,
            draft.type + "@1",
            WHEN,
        )
        fields = middle((*header, draft.origin, ORIGINS[draft.origin], ()))
        with writer.hold():
            writer.put([(fields, shaper.shape(payload))])
    writer.close()


def as_the_engine_does(place: Path, chained: bool) -> None:
    log, redactor = file_log(place, chained=chained), Redactor(KEY)
    recorder = Recorder(
        log,
        redactor=redactor,
        shaper=Shaper(redactor, log.blobs.keep, LIMITS),
        clock=SystemClock(),
        ids=UlidIds(),
    )
    for draft in drafts():
        recorder.record([draft])
    log.close()


@pytest.mark.parametrize("chained", [False, True], ids=["plain", "chained"])
def test_a_hook_and_the_engine_write_the_same_bytes(tmp_path: Path, chained: bool) -> None:
    hook, engine = tmp_path / "hook", tmp_path / "engine"
    folder_for(hook, "chained" if chained else "crc")
    as_a_hook_does(str(hook), Chain(KEY, str(hook) + ".anchors", Disk()) if chained else None)
    as_the_engine_does(engine, chained)
    first, second = (p / "events.ndjson" for p in (hook, engine))
    assert without_chance(first.read_bytes()) == without_chance(second.read_bytes())
    assert bodies(hook) == bodies(engine) != {}
    assert file_log(hook, chained=chained).verify().sound
    if not chained:
        assert first.read_bytes() == second.read_bytes()


def without_chance(data: bytes) -> bytes:
    """Without the salt, and what is computed from it."""
    data = re.sub(
        rb',"salt":"[0-9a-f]{32}","pd":"[0-9a-f]{64}","h":"[0-9a-f]{64}"', b",CHAIN", data
    )
    return re.sub(rb',"crc":"[0-9a-f]{8}"\}\n', b",CRC\n", data) if b",CHAIN" in data else data


def bodies(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in (folder / "blobs").rglob("*") if path.is_file()
    }


def test_both_may_write_to_one_log_in_turns(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log", chained=True)
    as_a_hook_does(log.folder, Chain(KEY, str(tmp_path / "log.anchors"), Disk()))
    log.seal()
    as_the_engine_does(tmp_path / "log", chained=True)  # the same ids: nothing new
    said = log.verify()
    assert (said.sound, said.chain, said.events) == (True, "whole", len(PAYLOADS))
    log.close()

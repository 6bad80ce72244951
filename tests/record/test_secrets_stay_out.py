"""A secret through every entrance: not one byte of it in any file under the home."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

import holdfast
from holdfast.app import transfer
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.errors import HoldfastError, Invalid
from tests.contract.entries import bytes_under
from tests.record.canaries import anthropic, github, leaks, private_key, token


def by_user(s: Session, secret: str) -> None:
    s.user(f"my key is {secret}, keep it")


def by_assistant(s: Session, secret: str) -> None:
    s.assistant(f"I will use {secret}")


def by_call_arguments(s: Session, secret: str) -> None:
    s.tool_call(
        "Bash", {"command": f"curl -H 'Authorization: Bearer {secret}' x", "env": {"T": secret}}
    )


def by_result_text(s: Session, secret: str) -> None:
    s.tool_result("Bash", f"TOKEN={secret}\n")


def by_result_bytes(s: Session, secret: str) -> None:
    s.tool_result("Bash", b"\xff\xfe " + secret.encode() + b" \x80")


def by_result_stream(s: Session, secret: str) -> None:
    s.tool_result("Bash", io.BytesIO(b"words and words\n" * 20_000 + secret.encode() + b"\n" * 10))


def by_long_text(s: Session, secret: str) -> None:
    s.assistant("words and words\n" * 20_000 + secret + "\nwords" * 20_000)


def by_large_payload(s: Session, secret: str) -> None:
    s.assistant("x", many=["y" * 100_000 for _ in range(12)] + [f"key {secret}"])


def by_key(s: Session, secret: str) -> None:
    s.user("x", nested={f"for {secret}": {secret: 1}})


def by_decision_and_error(s: Session, secret: str) -> None:
    s.decision(f"rotate {secret}")
    s.error(f"401 for {secret}")
    s.task_done(f"removed {secret}")


def by_lone_surrogate(s: Session, secret: str) -> None:
    s.user(f"\ud800 {secret} \udfff")


def by_state_details(s: Session, secret: str) -> None:
    s.record(
        "session_started", {"workflow": secret, "git_branch": f"fix-{secret}"}, origin="system"
    )


ENTRANCES = [
    by_user, by_assistant, by_call_arguments, by_result_text, by_result_bytes, by_result_stream,
    by_long_text, by_large_payload, by_key, by_decision_and_error, by_lone_surrogate, by_state_details,
]  # fmt: skip


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__name__)
@pytest.mark.parametrize("make", [github, anthropic], ids=lambda make: make.__name__)
def test_no_byte_of_a_secret_reaches_a_file(entrance, make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    secret = make()
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        entrance(s, secret)
        assert hf.verify().sound
    assert leaks(tmp_path, secret) == []
    assert any(b"[redacted:" in data for data in bytes_under(tmp_path).values())


@pytest.mark.parametrize("entrance", [by_user, by_result_text, by_long_text, by_result_stream])
def test_no_line_of_a_private_key_reaches_a_file(entrance, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    key = private_key()
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        entrance(s, key)
    assert leaks(tmp_path, *key.splitlines()[1:-1]) == []


def test_a_secret_as_a_name_is_redacted_or_refused(tmp_path: Path) -> None:
    agent, user, session, own_id, source = (github() for _ in range(5))
    with holdfast.open(project="p") as hf:
        with hf.session(agent=agent, user=user, session_id=session) as s:
            s.user("hello")
            with pytest.raises(Invalid) as caught:
                s.user("x", event_id=own_id)
            assert own_id not in str(caught.value)
            with pytest.raises(HoldfastError) as other:
                s.user("x", sources=(source,))
            assert source not in str(other.value)
        assert all("[redacted:" in str(e.agent) for e in hf.events())
    assert leaks(tmp_path, agent, user, session, own_id, source) == []


def test_a_secret_in_an_error_that_ends_a_session_is_redacted(tmp_path: Path) -> None:
    secret = github()

    def fail(hf: Holdfast) -> None:
        with hf.session(agent="a"):
            raise RuntimeError(f"cannot log in with {secret}")

    with holdfast.open(project="p") as hf, pytest.raises(RuntimeError):
        fail(hf)
    assert leaks(tmp_path, secret) == []


def test_a_secret_in_an_imported_file_is_redacted(tmp_path: Path) -> None:
    from base64 import b64encode
    from hashlib import sha256

    from tests.corruption.golden import record

    secret, in_body, in_note = github(), github(), github()
    body = b"words and words\n" * 10_000 + in_body.encode()
    digest = sha256(body).hexdigest()
    note = {"path": "/text", "why": "too_large", "blob": digest, "bytes": len(body), "x": in_note}
    file = io.BytesIO(
        b'{"holdfast_export":1,"project_id":"q"}\n'
        + b'{"body":"%b","last":"%b"}\n' % (digest.encode(), b64encode(body))
        + record(1, {"text": f"key {secret}", "_as_given": [note]})
        + b"\n"
        + b'{"holdfast_export_end":{"events":1}}\n'
    )
    with holdfast.open(project="p") as hf:
        done = transfer.import_(hf, file)
        assert (done.events, done.bodies, done.damaged) == (1, 1, 0)
        (event,) = hf.events()
        assert (event.origin, event.trust) == ("import", 0)
        assert b"".join(hf.body(event)).startswith(b"words and words")
        assert hf.verify().sound
    assert leaks(tmp_path, secret, in_body, in_note) == []


NOTES = [
    "text", 7, None, {"a": 1}, ["text"], [7], [None], [["x"]], [{"blob": "x"}], [{"blob": 7}],
    [{"blob": ["x"]}], [{"blob": {"a": 1}}, {"blob": "../../etc"}], [{"path": 1}],
]  # fmt: skip


@pytest.mark.parametrize("notes", NOTES, ids=repr)
def test_a_hostile_import_is_taken_or_refused_and_never_breaks_the_log(notes: object) -> None:
    from tests.corruption.golden import record

    lines = record(1, {"text": "x", "_as_given": notes}) + b"\n"
    file = io.BytesIO(b'{"holdfast_export":1,"project_id":"q"}\n' + lines)
    with holdfast.open(project="p") as hf:
        with contextlib.suppress(HoldfastError):
            transfer.import_(hf, file)
        with hf.session(agent="a") as s:
            s.user("on")
        assert hf.verify().last_seq >= 3
        transfer.export(hf, io.BytesIO())


def test_an_erased_event_leaves_no_byte_in_any_file(tmp_path: Path) -> None:
    from tests.contract.entries import erasure

    word = "kept" + token(40, "abcdefgh")
    many = {f"k{n}": "y" * 100_000 for n in range(12)}
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        gone = [
            s.user(f"say {word}"),
            s.assistant(word + " words" * 50_000),
            s.tool_result("t", io.BytesIO(word.encode() + b" words" * 50_000)),
            s.assistant("x", long=word + " others" * 50_000, **many),
            s.user(b"\xff" + word.encode()),
        ]
        kept = s.user("something else")
        hf.log.seal()
        ids = [event.event_id for event in gone]
        done = hf.log.erase(ids, subject=erasure(ids))
        assert done.events == 5
        assert hf.log.find(kept.event_id) == kept
        assert hf.verify().sound
    assert leaks(tmp_path / "home", word) == []


def test_an_erase_leaves_no_draft_of_a_process_that_died(tmp_path: Path) -> None:
    from tests.contract.entries import erasure

    word = "kept" + token(40, "abcdefgh")
    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        event = s.assistant(word + " words" * 50_000)
        folder = Path(hf.folder)
        (folder / "spool").mkdir()
        for left in [
            "blobs/.draft_01ABC",
            "spool/.evt_1.ndjson.77.tmp",
            ".events-000000000001.ndjson.tmp",
        ]:
            (folder / left).write_text(f"what a killed process left of {word}")
        hf.log.erase([event.event_id], subject=erasure([event.event_id]))
    assert leaks(tmp_path / "home", word) == []

"""A record of a context that was damaged, made by hand or brought along is refused by name."""

from __future__ import annotations

import io
import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app import transfer
from holdfast.app.holdfast import Holdfast
from holdfast.errors import Damaged, Erased, HoldfastError, NotFound
from holdfast.model.packs import Pack
from tests.app.conversations import Life
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

ODD: tuple[Any, ...] = (
    *(None, True, 0, 1, 7, -3, 10**15, 10**30, 0.5, "", "x", "\x00", "7", "[]", "{}", "[[],[]]"),
    *([], {}, [3], [[1, 2]], {"render": 1}, {"compose": 3}, {"total": -1}, {"a": "b"}, "[[7]]"),
    *("openai", "anthropic", "yaml", "o200k_base*x", "pck_none", "mem_none", "null", "not json"),
)


class Told(NamedTuple):
    """A home, the contexts handed out in it, and a memory in them."""

    home: Path
    packs: list[Pack]
    memory: str


def log_of(home: Path) -> Path:
    """The lines of its log."""
    return home / "contexts-v2" / "p" / "events.ndjson"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Two contexts of one epoch, the second with a correction; notes, tools and background."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_EMBEDDER", "none")
        home, clock = tmp_path_factory.mktemp("told") / "home", Ticking()
        with holdfast.open(home, project="p", user="ana", now=clock) as hf:
            life = Life(hf, clock, system="Be brief.", tools=[{"name": "Bash"}])
            fact = hf.remember("The flamingo port is 8080.")
            hf.remember("Never deploy on Fridays.", category="rules")
            life.s.update_state({"task": "deploy"})
            life.ask("on which port does the flamingo listen?")
            clock.minutes += 1
            hf.revise(fact.id, text="The flamingo port is 9090.")
            life.ask("is that the flamingo port?")
            assert "no longer holds; now:" in life.packs[1].text
            assert life.packs[0].receipt.epoch == life.packs[1].receipt.epoch
        return Told(home, life.packs, fact.id)


@contextmanager
def edited(of: Told, kind: str, edit: Callable[[dict[str, Any]], None]) -> Iterator[Holdfast]:
    """A copy of the home in which every event of a kind says something else."""
    with TemporaryDirectory() as place:
        home = Path(place) / "home"
        shutil.copytree(of.home, home, ignore=shutil.ignore_patterns("index.db*", "snapshot*"))
        lines = [
            _line(line, edit) if json.loads(line)["type"].startswith(kind) else line
            for line in log_of(home).read_bytes().splitlines(keepends=True)
        ]
        log_of(home).write_bytes(b"".join(lines))
        with holdfast.open(home, project="p", user="ana", now=Ticking(5)) as hf:
            yield hf


def _line(line: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    payload = json.loads(line)["payload"]
    edit(payload)
    said = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    body = line[: line.index(b'"payload":')] + b'"payload":' + said.encode()
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body)


def refused(hf: Holdfast, of: Told, *, erased: bool = False) -> None:
    """Whatever is asked about these contexts is answered, or refused by name."""
    for pack in of.packs:
        found = answered(lambda: hf.replay(pack.id))  # noqa: B023  (called at once)
        if isinstance(found, Pack):
            assert found.text == pack.text
            assert found.messages == pack.messages
        else:
            assert isinstance(found, (Damaged, Erased) if erased else Damaged)
            assert pack.id in str(found)
        answered(lambda: hf.receipt(pack.id))  # noqa: B023
        answered(lambda: hf.why(pack.id, of.memory))  # noqa: B023
        for other in (hf.settings.compose, hf.settings.recall):
            answered(lambda: hf.replay(pack.id, settings=other))  # noqa: B023


def answered(ask: Callable[[], Any]) -> Any:
    """An answer, or an error of ours; any other error ends the test."""
    try:
        return ask()
    except HoldfastError as exc:
        return exc


#: fields that hold JSON as a text
TEXTS = ("shown", "candidates", "tools", "settings")
Path_ = tuple[Any, ...]


def opened(payload: dict[str, Any]) -> dict[str, Any]:
    """What an event says, its texts of JSON read."""
    return {n: json.loads(v) if n in TEXTS else v for n, v in payload.items()}


def closed(said: dict[str, Any]) -> dict[str, Any]:
    """The same as it is written; what a text cannot hold stands there as it is."""
    return {
        n: json.dumps(v) if n in TEXTS and type(v) in (list, dict) else v for n, v in said.items()
    }


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place in a value."""
    of = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in of:
        yield (*path, name)
        if isinstance(one, dict | list):
            yield from places(one, (*path, name))


def records(of: Told) -> dict[str, dict[str, Any]]:
    """What the last event of each kind says."""
    every = [json.loads(line) for line in log_of(of.home).read_bytes().splitlines()]
    kinds = ("context_assembled", "epoch_started")
    told = {
        one["type"].partition("@")[0]: opened(one["payload"])
        for one in every
        if one["type"].startswith(kinds)
    }
    return {
        kind: {**said, "_as_given": [{"path": "/query", "blob": "0" * 64}]}
        for kind, said in told.items()
    }


def change(path: Path_, value: Any) -> Callable[[dict[str, Any]], None]:
    """An edit of one place of a record; "gone" takes it out. An event without the place stays."""

    def edit(payload: dict[str, Any]) -> None:
        said: Any = opened(payload)
        if path[0] == "_as_given":
            said["_as_given"] = [{"path": "/query", "blob": "0" * 64}]
        at: Any = said
        try:
            for name in path[:-1]:
                at = at[name]
            at[path[-1]]
        except (KeyError, IndexError, TypeError):
            return
        if value == "gone":
            del at[path[-1]]
        else:
            at[path[-1]] = value
        payload.clear()
        payload.update(closed(said))

    return edit


@settings(max_examples=examples(80), phases=AS_FOUND)
@given(st.data())
def test_no_edit_of_a_record_is_taken_for_a_context(told: Told, data: st.DataObject) -> None:
    kind, said = data.draw(st.sampled_from(sorted(records(told).items(), key=lambda one: one[0])))
    name = data.draw(st.sampled_from(sorted(said)))
    path = data.draw(
        st.sampled_from(
            [(name,), *places(said[name], (name,))]
            if isinstance(said[name], dict | list)
            else [(name,)]
        )
    )
    value = data.draw(st.sampled_from(ODD) | st.just("gone"))
    with edited(told, kind, change(path, value)) as hf:
        refused(hf, told, erased=name == "generation")


# ---- examples -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "path", "value", "says"),
    [
        ("context_assembled", ("format",), "yaml", "format"),
        ("context_assembled", ("format",), "anthropic", "messages have another hash"),
        ("context_assembled", ("messages",), "00", "messages have another hash"),
        ("context_assembled", ("text",), "00", "text has another hash"),
        ("context_assembled", ("tokens",), {}, "what each section takes"),
        ("context_assembled", ("candidates",), "not json", "candidates cannot be read"),
        ("context_assembled", ("epoch",), "epo_none", "epoch is not there"),
        ("context_assembled", ("scratchpad",), 5, "notes it showed are not there"),
        ("context_assembled", ("settings",), '{"compose": {"budget": -4}, "recall": {}}', "budget"),
        ("context_assembled", ("versions", "counted_with"), "nope", "cannot be counted"),
        ("context_assembled", ("versions", "render"), 99, "newer Holdfast; update"),
        ("context_assembled", ("versions", "rules"), 0, "a way that is not known here"),
        ("context_assembled", ("window",), 3, "leave no room"),
        ("epoch_started", ("tools",), "{", "tools cannot be read"),
        ("epoch_started", ("history_from",), -3, "history_from"),
    ],
)
def test_what_is_wrong_is_said(told: Told, kind: str, path: Path_, value: Any, says: str) -> None:
    with edited(told, kind, change(path, value)) as hf, pytest.raises(Damaged, match=says) as exc:
        hf.replay(told.packs[0].id)
    assert told.packs[0].id in str(exc.value)


def test_an_epoch_of_somebody_else_is_none_of_this(told: Told) -> None:
    first = next(e for e in records(told).values() if "epoch" in e)["epoch"]
    other = change(("epoch",), told.packs[0].id)
    with edited(told, "context_assembled", other) as hf, pytest.raises(Damaged, match="no epoch"):
        hf.replay(told.packs[0].id)
    with edited(told, "context_assembled", change(("epoch",), first)) as hf:
        assert hf.replay(told.packs[0].id).text == told.packs[0].text


def test_a_context_that_came_with_an_import_is_said_to_be_one(told: Told, tmp_path: Path) -> None:
    out = io.BytesIO()
    with holdfast.open(told.home, project="p", user="ana") as hf:
        transfer.export(hf, out)
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        hf.session(agent="coder", session_id="mine").user("hello")
        transfer.import_(hf, io.BytesIO(out.getvalue()))
        for ask in (hf.replay, hf.receipt, lambda one: hf.replay(one, requery=True)):
            with pytest.raises(NotFound, match="came with an import"):
                ask(told.packs[0].id)

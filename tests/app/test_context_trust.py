"""Data never speaks with authority, nothing gets out of its block, and the log keeps what was said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.errors import HoldfastError
from holdfast.model.packs import Pack
from tests.app.conversations import EVERYTHING, Life, Move, imported, lived, lives, taken
from tests.compose.chats import check_anthropic, check_openai, everything_said, said_by_the_system
from tests.compose.marks import Block, blocks, entries, in_order, remembered, unseen
from tests.compose.wordings import WAYS_OUT, hostile, sentences
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

FORMATS = ("openai", "anthropic")
WIDE: dict[str, Any] = {"budget": 6_000, "new_tokens": 6_000}


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


# ---- marks --------------------------------------------------------------------------------------


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(lives(EVERYTHING, hostile), st.sampled_from(FORMATS))
def test_every_block_opens_once_and_closes_once(told: list[Move], kind: str) -> None:
    with lived(told, **WIDE, format=kind) as (_, packs):
        for pack in packs:
            assert not unseen(pack.text)
            shown = [one for block in remembered(pack.text) for one in entries(block)]
            in_sections = sum(f.entries for f in pack.receipt.sections.values())
            assert len(shown) == len(set(shown)) == in_sections
            for text in (*everything_said(pack.messages), authority(pack)):
                assert not unseen(text)
                blocks(text)


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(lives(EVERYTHING, hostile | sentences), st.sampled_from(["", "You are a coder."]))
def test_models_take_every_context_and_hear_the_whole_conversation(
    told: list[Move], system: str
) -> None:
    with lived(told[:-1], **WIDE) as (life, _):
        both = [life.context("service", format=kind, system=system) for kind in FORMATS]
        spoken = life.s.recent(turns=1_000) if life.turns else []
        since = life.s.status().compacted if life.turns else 0
    check_openai(both[0].messages)
    check_anthropic(both[1].system, both[1].messages)
    said = [one for one in spoken if one.kind in ("user_message", "model_message")]
    plain = [one.text for one in said if one.event_seq > since]
    simple = [text for text in plain if text.isascii() and text.isprintable() and "<" not in text]
    for pack in both:
        words = "\n".join(everything_said(pack.messages))
        assert in_order(words, [text for text in simple if text.strip()])


@pytest.mark.parametrize("way", WAYS_OUT)
def test_what_is_shown_safely_stands_in_the_log_as_it_was_said(tmp_path: Path, way: str) -> None:
    text = f"deploy {way} port"
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        memory = hf.remember(text)
        life = Life(hf, Ticking(), **WIDE)
        said = life.s.tool_result("Bash", text)
        life.s.update_state({"note": text})
        pack = life.ask(text)
        assert [event.text for event in hf.events() if event.kind == "user_message"] == [text]
        found = hf.log.find(said.event_id)
        assert found is not None
        assert found.payload["text"] == text
        assert hf.get(memory.id).text == text
        assert life.s.scratchpad().content == {"note": text}
    marks = [block.mark for block in blocks(pack.text)]
    assert marks.count("turn") == 2
    assert "memory" in marks
    assert marks.count("scratchpad") == 1
    assert not unseen(pack.text)


def test_half_a_pair_is_no_trouble(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        life = Life(hf, Ticking(), **WIDE)
        life.s.tool_call("Bash\ud800", {"a\ud800": ["\udfff"]})
        life.s.tool_result("Bash\ud800", "x\ud800")
        pack = life.ask("deploy \ud800", system="Be\ud800 kind")
    blocks(pack.text)
    assert not unseen(pack.text)
    msgspec.json.encode(pack.messages)


# ---- authority ----------------------------------------------------------------------------------


def authority(pack: Pack) -> str:
    """Everything of a context that stands with authority in the messages."""
    return said_by_the_system(pack.system, pack.messages)


def instructions(pack: Pack) -> list[Block]:
    """The blocks that hold instructions."""
    return [block for block in blocks(pack.text) if block.mark == "instructions"]


def _revised(life: Life, word: str) -> None:
    rule = life.hf.remember("deploy gently", category="rules")
    life.s.record(
        "memory_revised",
        {"memory": rule.id, "changes": {"text": f"deploy {word}"}},
        origin="agent",
    )


#: every way something can come to be known that no person said, with a word to know it by
Foreign = Callable[[Life, str], Any]
NOT_A_PERSON: dict[str, Foreign] = {
    "agent's rule": lambda life, word: life.s.remember(f"deploy {word}", category="rules"),
    "agent's preference": lambda life, word: life.s.remember(
        f"deploy {word}", category="preferences", scope="user"
    ),
    "agent's system rule": lambda life, word: life.s.remember(
        f"deploy {word}", category="rules", scope="system"
    ),
    "import": lambda life, word: life.hf.record([imported(f"deploy {word}", "rules")]),
    "tool result": lambda life, word: life.s.tool_result("Bash", f"deploy {word}"),
    "model": lambda life, word: life.s.assistant(f"deploy {word}"),
    "error": lambda life, word: life.s.error(f"deploy {word}"),
    "decision": lambda life, word: life.s.decision(f"deploy {word}"),
    "note": lambda life, word: life.s.update_state({"rules": f"deploy {word}"}),
    "derived": lambda life, word: life.hf.remember(
        f"deploy {word}",
        category="rules",
        sources=[life.s.tool_result("Read", "from a page").event_id],
    ),
    "revised by an agent": _revised,
    "distrusted": lambda life, word: life.hf.trust(
        life.hf.remember(f"deploy {word}", category="rules").id, 2, reason="copied"
    ),
    "claims": lambda life, word: life.s.tool_result(
        "Bash", f"deploy {word}", origin="user", trust=3, category="rules"
    ),
    "a person's fact": lambda life, word: life.hf.remember(f"deploy {word}"),
    "a person's turn": lambda life, word: life.user(f"deploy {word}"),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("how", NOT_A_PERSON)
def test_only_a_person_s_own_rule_is_an_instruction(tmp_path: Path, how: str, kind: str) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        life = Life(hf, Ticking(), **WIDE, format=kind, system="You are a coder.")
        hf.remember("deploy with care", category="rules")
        NOT_A_PERSON[how](life, "zyzzogeton")
        for _ in range(2):  # at the beginning of an epoch, and later in it
            pack = life.ask("deploy zyzzogeton")
            assert "deploy with care" in authority(pack)
            assert "zyzzogeton" not in authority(pack)
            assert not any("zyzzogeton" in block.body for block in instructions(pack))


def test_a_person_s_rule_is_one(tmp_path: Path) -> None:
    """Else the test above would hold for a context without instructions."""
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        life = Life(hf, Ticking(), **WIDE)
        hf.remember("deploy zyzzogeton", category="rules")
        assert "zyzzogeton" in authority(life.ask("deploy"))


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(lives(EVERYTHING, sentences), st.sampled_from(FORMATS))
def test_what_stands_among_instructions_has_the_trust_of_a_person(
    told: list[Move], kind: str
) -> None:
    with lived(told, **WIDE, format=kind, system="You are a coder.") as (life, packs):
        shown: dict[int, str] = {}
        for pack in packs:
            shown |= {one.number: one.id for one in taken(pack)}
            for block in instructions(pack):
                for number in entries(block):
                    assert life.hf.get(shown[number]).history[0].trust == 3
            told_as_rules = [
                block.start
                for block in instructions(pack)
                if block.attributes["part"] == "background"
            ]
            assert authority(pack).count("<hf:") == len(told_as_rules)
            assert "<hf:memory" not in authority(pack)
            assert "<hf:turn" not in authority(pack)


@pytest.mark.parametrize("importance", [0.5, 1.0])
def test_what_comes_from_outside_is_shown_only_as_an_answer(
    tmp_path: Path, importance: float
) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        life = Life(hf, Ticking(), **WIDE)
        told = imported("the zyzzogeton is a cicada of the Andes", "rules")
        hf.record([replace(told, payload={**told.payload, "importance": importance})])
        for n in range(5):
            hf.remember(f"deploy number {n}")
        for query in ("deploy", "what is a zyzzogeton"):
            pack = life.ask(query)
            mine = pack.receipt.why(told.payload["memory"])
            assert mine
            for one in mine:
                allowed = one.shown.section == "relevant" and one.verdict != "untrusted"
                assert allowed or one.verdict in ("untrusted", "duplicate")
    (block,) = [one for one in blocks(pack.text) if "zyzzogeton is a cicada" in one.body]
    assert (block.mark, block.attributes["part"]) == ("memory", "relevant")


# ---- somebody else ------------------------------------------------------------------------------

OTHERS: dict[str, Callable[[Holdfast], Any]] = {
    "turn": lambda hf: of_ben(hf).user("deploy zyzzogeton"),
    "memory of a user": lambda hf: hf.remember("deploy zyzzogeton", scope="user", user="ben"),
    "rule of a user": lambda hf: hf.remember(
        "deploy zyzzogeton", scope="user", category="rules", user="ben"
    ),
    "memory of a session": lambda hf: of_ben(hf).remember("deploy zyzzogeton", scope="session"),
    "note": lambda hf: of_ben(hf).update_state({"task": "deploy zyzzogeton"}),
    "error": lambda hf: of_ben(hf).error("deploy zyzzogeton"),
    "agent's turn": lambda hf: hf.session(agent="critic").user("deploy zyzzogeton"),
    "agent's memory": lambda hf: hf.session(agent="critic").remember(
        "deploy zyzzogeton", scope="session"
    ),
}


def of_ben(hf: Holdfast) -> Session:
    return hf.session(agent="coder", user="ben", session_id="of ben").start()


@pytest.mark.parametrize("what", OTHERS)
def test_nobody_s_context_holds_what_is_somebody_else_s(tmp_path: Path, what: str) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        OTHERS[what](hf)
        life = Life(hf, Ticking(), **WIDE)
        pack = life.ask("deploy")
        assert "zyzzogeton" not in msgspec.json.encode(pack).decode()


def test_nobody_goes_on_with_somebody_else_s_session(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        of_ben(hf).user("deploy")
        with pytest.raises(HoldfastError):
            hf.session(agent="coder", user="ana", session_id="of ben").context("deploy")

"""The benchmark of prompts: what they share and cost, five ways, the evidence, loaders, whole runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import economy
from bench.economy import Figures, Meter, Settings, shared
from bench.economy_data import Call, Message, Script, Sitting, alone, chained, repository
from bench.economy_evidence import (
    ELSEWHERE,
    FAR,
    NEAR,
    Need,
    Share,
    handles,
    kept,
    needed,
)
from bench.economy_ways import (
    LAST,
    FullHistory,
    MemoryOnTop,
    Ours,
    SlidingWindow,
    Summarised,
    opened,
    plainly,
    question,
)
from holdfast.errors import Invalid, NotFound
from tests.bench.test_bench_data import BEAM, written
from tests.bench.test_bench_scale import strict
from tests.property.effort import examples

pieces = st.lists(st.text("ab", max_size=4), max_size=5).map(tuple)
messages = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "tool"]),
        text=st.text("ab ", max_size=60),
    ),
    max_size=30,
)


def script(*said: Message, system: str = "be brief") -> Script:
    return Script(name="one", system=system, sittings=(Sitting(name="s1", messages=tuple(said)),))


def user(text: str) -> Message:
    return Message(role="user", text=text)


def did(text: str, command: str) -> Message:
    return Message(role="assistant", text=text, calls=(Call("c1", "bash", {"command": command}),))


# ---- what a prompt costs -------------------------------------------------------------------------


@given(pieces, pieces)
def test_two_prompts_share_what_is_alike_from_the_first_byte_on(
    before: tuple[str, ...], now: tuple[str, ...]
) -> None:
    alike = 0
    for old, new in zip(before, now, strict=False):
        alike += next(
            (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
            min(len(old), len(new)),
        )
        if old != new:
            break
    assert shared(before, now, len) == shared(now, before, len) == alike
    assert shared(now, now, len) == sum(map(len, now))


def test_the_bill_by_hand() -> None:
    meter = Meter(len, 100)
    meter.send(("s" * 60, "a" * 60), {})  # 120, nothing before it
    meter.send(("s" * 60, "a" * 60, "b" * 30), {})  # 150, of it 120 as before
    meter.send(("s" * 60, "x" * 60), {})  # 120, and 60 alike are too few to be cached
    meter.send(("s" * 60, "x" * 50 + "y" * 20), {})  # 130, of it 110 as before
    found = meter.figures
    assert (found.calls, found.sent, found.cached, found.largest) == (4, 520, 230, 150)
    assert found.cost == pytest.approx(0.1 * 230 + 1.25 * 290)


@given(st.lists(pieces, max_size=6), st.integers(1, 12))
def test_more_is_never_cached_than_was_sent_and_little_never(
    prompts: list[tuple[str, ...]], least: int
) -> None:
    meter = Meter(len, least)
    for prompt in prompts:
        before = meter.figures.cached
        meter.send(prompt, {NEAR: Share(2, 1, 1)})
        cached = meter.figures.cached - before
        assert cached == 0 or least <= cached <= sum(map(len, prompt))
    assert meter.figures.sent == sum(len(piece) for prompt in prompts for piece in prompt)
    assert meter.figures.kept.get(NEAR, Share()) == Share(*(len(prompts) * n for n in (2, 1, 1)))


# ---- ways ----------------------------------------------------------------------------------------


@given(messages, st.integers(0, 400))
def test_a_sliding_window_is_the_longest_end_that_fits_and_begins_with_no_result(
    said: list[Message], window: int
) -> None:
    way, full = SlidingWindow(script(), len, window), FullHistory(script(), len)
    for message in said:
        way.hear(message)
        full.hear(message)
    system, *shown = way.prompt("")
    _, *every = full.prompt("")
    assert system == "<system>\nbe brief"
    assert every[len(every) - len(shown) :] == shown
    assert not shown or len(system) + sum(map(len, shown)) <= window
    assert not shown or not shown[0].startswith("<tool>")
    longer = every[len(every) - len(shown) - 1 :]
    fits = len(system) + sum(map(len, longer)) <= window
    assert len(shown) == len(every) or longer[0].startswith("<tool>") or not fits


@settings(max_examples=examples(30))
@given(messages, st.integers(2_600, 4_000))
def test_a_summary_keeps_the_window_and_the_last_messages(said: list[Message], window: int) -> None:
    way = Summarised(script(), len, window)
    before: tuple[str, ...] = ()
    for message in [*said, *said, *said]:
        way.hear(message)
        prompt = way.prompt("")
        assert sum(map(len, prompt)) <= window
        assert prompt[-1] == plainly(message)
        folded = prompt[: len(before)] != before
        assert not folded or prompt[1].startswith("<user>\nSummary of what was said before:\n")
        assert not folded or len(prompt) >= min(LAST, len(before))
        before = prompt


def test_memory_on_top_is_a_block_at_the_end_that_fits() -> None:
    asked: list[str] = []

    def recall(query: str) -> list[str]:
        asked.append(query)
        return ["a" * 500, "b" * 2_000, "c" * 100]

    way = MemoryOnTop(script(), len, 5_000, recall)
    way.hear(user("which port?"))
    *_, last = way.prompt("port")
    assert asked == ["port"]
    assert last == f"<user>\nFrom memory:\n- {'a' * 500}\n- {'c' * 100}"
    assert way.prompt("port")[:-1] == ("<system>\nbe brief", "<user>\nwhich port?")


def test_the_question_is_the_last_two_messages() -> None:
    said = [user("first"), did("I look", "ls src"), Message(role="tool", text="x" * 900)]
    assert question(said) == "I look\nls src\n" + "x" * 500
    assert question(said[:1]) == "first"
    assert question([]) == ""


def test_what_is_asked_of_holdfast_is_its_context() -> None:
    work = script(user("Open src/app.py please."), did("I open it.", "open src/app.py"))
    listing = "\n".join(f"line_{n} = {n}  # quux_{n}" for n in range(900))
    with opened("none") as (hf, clock):
        ours = Ours(work, hf, clock, 500, 6_000)
        ours.begin(work.sittings[0])
        ours.hear(work.sittings[0].messages[0])
        tools, *first = ours.prompt("open")
        assert json.loads(tools)[0]["name"] == "memory_search"
        assert first == ["<system>\nbe brief", "<user>\nOpen src/app.py please."]
        ours.hear(work.sittings[0].messages[1])
        ours.hear(Message(role="tool", text=listing, tool="bash", answers="c1"))
        prompt = ours.prompt("lines")
        assert prompt[: len(first) + 1] == (tools, *first)
        assert "<call bash>" in "\n".join(prompt[len(first) + 1 :])
        assert len(handles("\n".join(prompt))) == 1
        far = kept(Need(terms={"quux_450": FAR}), prompt, ours.expand)
        (handle,) = handles("\n".join(prompt))
        assert far[FAR].within_reach == int("quux_450" in ours.expand(handle))
        assert "line_0 = 0  # quux_0" in ours.expand(handle)
        assert (ours.expand("evt_x"), len(ours.dead)) == ("", 1)
        ours.end()
        with pytest.raises(Invalid, match="no session"):
            ours.hear(user("too late"))


# ---- evidence ------------------------------------------------------------------------------------


def test_evidence_is_what_the_step_uses_and_somebody_said_before() -> None:
    step = did("rm and so on: look at src/new.py, old_name, A4B5C6 and KeyError.", "cat src/app.py")
    here = [user("a4b5 KeyError in src/app.py"), *[user("hm")] * LAST, user("old_name")]
    others = [user("A4B5C6, src/new.py"), did("", "cat src/app.py")]
    assert needed(step, here, others, "The system knows src/new.py.").terms == {
        "A4B5C6": ELSEWHERE,
        "KeyError": FAR,
        "cat src/app.py": ELSEWHERE,
        "old_name": NEAR,
        "src/app.py": FAR,
    }
    assert needed(step, [], [], "").terms == {}


def test_what_is_needed_stands_there_or_is_one_expansion_away() -> None:
    terms = {"src/app.py": NEAR, 'echo "a b"': FAR, "KeyError": FAR, "old_name": FAR}
    need = Need(terms=terms, gold=("one\n two", "three"))
    prompt = (
        "<user>\nsee src/app.py and old_names",
        '<call bash>\n{"command":"echo \\"a b\\""}',
        '<hf:memory part="relevant" note="x">\n[3+] one  two\n  [4] no\n[5] y\n</hf:memory>',
    )
    texts = {"3": "a KeyError", "5": "three"}
    found = kept(need, prompt, texts.__getitem__)
    assert found == {NEAR: Share(1, 1, 1), FAR: Share(3, 1, 2), ELSEWHERE: Share(2, 1, 2)}
    assert kept(need, prompt)[FAR] == Share(3, 1, 1)
    assert kept(Need(), prompt, texts.__getitem__) == {}


@given(st.lists(st.integers(1, 999), unique=True, max_size=8), st.text("[]0123456789+ \n"))
def test_handles_are_those_of_entries_and_of_nothing_inside_them(
    numbers: list[int], inside: str
) -> None:
    indented = inside.replace("\n", "\n  ")
    lines = "\n".join(f"[{n}+] ana: {indented}" for n in numbers)
    text = f'[7] not mine\n<hf:memory part="relevant" note="data">\n{lines}\n</hf:memory>\n[8] nor mine'
    assert handles(text) == [str(n) for n in numbers]
    shortened = "[shortened to summary; expand evt_1 for all of it]"
    assert handles(f"{text}\n{shortened}\n{shortened}")[len(numbers) :] == ["evt_1"]


# ---- loaders -------------------------------------------------------------------------------------

OLD = {
    "history": [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "fix src/app.py"},
        {"role": "assistant", "content": "x", "thought": "I look", "action": "ls src\n"},
        {"role": "user", "content": "app.py old_name"},
        {"role": "assistant", "content": "done", "thought": "done", "action": ""},
    ]
}
NEWER = {
    "history": [
        {"role": "system", "content": [{"type": "text", "text": "rules"}]},
        {"role": "user", "content": "fix src/app.py"},
        {
            "role": "assistant",
            "content": "I open",
            "action": "open src/app.py",
            "tool_calls": [
                {"id": "c9", "function": {"name": "open", "arguments": '{"path": "src/app.py"}'}}
            ],
        },
        {"role": "tool", "content": "code", "tool_call_ids": ["c9"]},
        {"role": "assistant", "content": "fixed src/app.py, not old_name"},
    ]
}
DIALOGUE = {
    "traj": [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "book JFK1234"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "book", "arguments": "not json"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "book", "content": "{}"},
        {"role": "assistant", "content": "JFK1234 is booked"},
    ]
}


def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    for name in ("swe-agent", "tau-bench", "beam"):
        (data / name).mkdir(parents=True)
    (data / "swe-agent" / "00-app-12.traj").write_text(json.dumps(OLD))
    (data / "swe-agent" / "01-app-13.traj").write_text(json.dumps(NEWER))
    (data / "swe-agent" / "02-Other.traj").write_text(json.dumps(OLD))
    (data / "tau-bench" / "air.json").write_text(json.dumps([DIALOGUE]))
    written(data / "beam", "x.jsonl", [BEAM])
    return data


def test_trajectories_old_and_new_are_calls_and_results(tmp_path: Path) -> None:
    old, newer, _ = alone(folder(tmp_path), "swe-agent")
    assert (old.name, old.system, newer.system) == ("00-app-12", "rules", "rules")
    assert old.sittings[0].messages == (
        user("fix src/app.py"),
        Message(
            role="assistant",
            text="I look",
            calls=(Call("call_1", "bash", {"command": "ls src\n"}),),
        ),
        Message(role="tool", text="app.py old_name", tool="bash", answers="call_1"),
        Message(role="assistant", text="done"),
    )
    assert newer.sittings[0].messages[1:3] == (
        Message(
            role="assistant", text="I open", calls=(Call("c9", "open", {"path": "src/app.py"}),)
        ),
        Message(role="tool", text="code", tool="open", answers="c9"),
    )
    (row,) = chained(tmp_path / "data", "swe-agent")
    assert (row.name, [one.name for one in row.sittings]) == ("app ×2", ["00-app-12", "01-app-13"])


def test_dialogues_and_conversations_with_their_questions(tmp_path: Path) -> None:
    data = folder(tmp_path)
    (served,) = alone(data, "tau-bench")
    assert served.sittings[0].messages[1].calls == (Call("c1", "book", {"arguments": "not json"}),)
    assert not served.asks
    (talked,) = alone(data, "beam")
    assert [one.gold for one in talked.sittings] == [(), (), ("one", "three"), ("two",)]
    assert talked.asks
    assert talked.sittings[2].messages[0] == user("now?")


def test_what_is_not_what_it_is_called_is_said(tmp_path: Path) -> None:
    data = folder(tmp_path)
    assert repository("3-a-b-17") == "a-b"
    assert repository("Solo") == "Solo"
    (data / "swe-agent" / "00-app-12.traj").write_text('{"history": [{"role": "user"}]}')
    with pytest.raises(Invalid, match="00-app-12"):
        alone(data, "swe-agent")
    (data / "tau-bench" / "air.json").write_text("{}")
    with pytest.raises(Invalid, match=r"air\.json"):
        alone(data, "tau-bench")
    with pytest.raises(NotFound, match="swe-agent"):
        alone(tmp_path, "swe-agent")


# ---- whole runs ----------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.economy", *words])
    economy.main()


def test_full_history_by_hand() -> None:
    said = (user("look at src/app.py"), did("I do.", "cat src/app.py"), user("and?"))
    last = Message(role="assistant", text="All of src/app.py is fine.")
    found = economy.played(
        script(*said, last), Settings(window=2_000, budget=200, cacheable=1, embedder="none")
    )
    with opened("none") as (hf, _):
        count = hf.counter().count
    sizes = [count("<system>\nbe brief"), *(count(plainly(message)) for message in said)]
    full = found["full history"]
    assert (full.calls, full.sent) == (2, sum(sizes[:2]) + sum(sizes))
    assert full.cached == sum(sizes[:2])
    assert full.cost == pytest.approx(0.1 * sum(sizes[:2]) + 1.25 * sum(sizes))
    assert full.kept == {NEAR: Share(2, 2, 2)}
    assert found["sliding window"] == found["summarised at 80 %"] == full
    assert found["memory on top"].cost > full.cost
    assert found["Holdfast"].kept == full.kept
    assert found["Holdfast"].largest <= 2_000


def test_every_set_in_every_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folder(tmp_path)
    run(monkeypatch, str(data), "--embedder", "none", "--json")
    told = strict(capsys.readouterr().out)
    assert [(row["set"], row["scripts"], row["calls"]) for row in told["rows"][::5]] == [
        ("swe-agent, alone", 3, 6),
        ("swe-agent, one session", 1, 4),
        ("swe-agent, sessions in a row", 1, 4),
        ("tau-bench, alone", 1, 2),
        ("beam, one session", 1, 4),
        ("beam, sessions in a row", 1, 4),
    ]
    ways = ["full history", "sliding window", "summarised at 80 %", "memory on top", "Holdfast"]
    assert [row["way"] for row in told["rows"]] == ways * 6
    for row in told["rows"][::5]:
        assert row["cost_beside_full"] == 1
        assert row["evidence"]["in_prompt_percent"] == 100
    assert [row["elsewhere"]["needed"] for row in told["rows"][::5]] == [0, 0, 1, 0, 3, 3]
    for goal in (goal for goal in told["goals"] if "evidence" in goal["goal"]):
        (ours,) = (r for r in told["rows"] if (r["set"], r["way"]) == (goal["set"], "Holdfast"))
        assert goal["figure"] == ours["evidence"]["with_expansion_percent"]
        assert goal["met"] == (goal["figure"] >= 95)
    assert len(told["goals"]) == 1 + 4 + 4 + 1 + 4 + 4
    assert told["settings"]["prices"] == {"cached": 0.1, "new": 1.25}


def test_the_table_and_what_cannot_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folder(tmp_path)
    words = (str(data), "--dataset", "swe-agent", "--embedder", "none")
    run(monkeypatch, *words, "--most", "1", "--window", "1500")
    out, err = capsys.readouterr()
    assert "Goals for Holdfast" in out
    assert "cost ≤ 1.05 × full history" in out
    assert "swe-agent, alone: 00-app-12 (1 of 1)" in err
    with pytest.raises(SystemExit, match=r"bench\.economy: no \*\.json of tau-bench"):
        run(monkeypatch, str(tmp_path), "--dataset", "tau-bench")
    for wrong in (("--most", "0"), ("--dataset", "locomo")):
        with pytest.raises(SystemExit) as caught:
            run(monkeypatch, str(data), *wrong)
        assert caught.value.code == 2


def test_figures_of_two_add_up_and_the_largest_stays() -> None:
    one = Figures(calls=1, sent=10, cached=4, largest=10, kept={FAR: Share(1, 0, 1)}, epochs=1)
    one.add(Figures(calls=2, sent=5, largest=3, kept={FAR: Share(1, 1, 1), NEAR: Share(1)}))
    assert one == Figures(
        calls=3,
        sent=15,
        cached=4,
        largest=10,
        kept={FAR: Share(2, 1, 2), NEAR: Share(1)},
        epochs=1,
    )

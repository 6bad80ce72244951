"""The benchmark of retention: what a key term is, cuts of the same size, and whole runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import retention
from bench.key_terms import SORTS, held, key_terms
from bench.retention import Kept, Sample, both_ends, longest
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.model.tokens import Counted
from tests.bench.test_bench_data import BEAM, LOCOMO, written
from tests.bench.test_bench_scale import data_folder, strict
from tests.text.strange import texts

COUNT = counter(Counted(retention.ENCODING, 1.0, True)).count


# ---- terms ---------------------------------------------------------------------------------------


@given(texts)
def test_a_text_holds_each_of_its_terms(text: str) -> None:
    terms = key_terms(text)
    assert held(terms, text) == set(terms)
    assert set(terms.values()) <= set(SORTS)
    assert held(terms, "") == set()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("see src/auth/login.ts and setup.py", {"src/auth/login.ts": "path", "setup.py": "path"}),
        ("a TypeError at noon", {"TypeError": "error"}),
        ("$ pip install -e .", {"pip install -e": "command"}),
        (
            "it took 1,204.5 ms on 2024-05-20 at 12:30",
            {"1,204.5": "number", "2024-05-20": "number", "12:30": "number"},
        ),
        (
            "call get_user then fooBar and HTTP",
            {"get_user": "identifier", "fooBar": "identifier", "HTTP": "identifier"},
        ),
        ('she said "not today" to `it`', {"not today": "quoted", "it": "quoted"}),
        ("then Ana Gomez left for New York.", {"Ana Gomez": "name", "New York": "name"}),
        ("1. first\n12:    line\n# Big Words Here and/or e.g. this", {}),
        ("Nothing to see. Really nothing.", {}),
    ],
)
def test_what_a_term_is(text: str, terms: dict[str, str]) -> None:
    assert key_terms(text) == terms


def test_a_part_of_a_word_is_not_the_term() -> None:
    terms = key_terms("we saw 12 and get_user")
    assert held(terms, "112 get_users 123 get_user_id") == set()
    assert held(terms, "(12) get_user()") == {"12", "get_user"}
    assert held(terms, "112 and 12") == {"12"}


# ---- cuts ----------------------------------------------------------------------------------------


@given(texts.map(lambda text: text * 3), st.integers(0, 40))
def test_a_cut_is_no_more_than_its_tokens_and_an_end_of_the_text(text: str, tokens: int) -> None:
    head, tail = longest(text, tokens, len), longest(text, tokens, len, end=True)
    assert (head, tail) == (text[:tokens], text[len(text) - min(tokens, len(text)) :])
    head = longest(text, tokens, COUNT)
    assert text.startswith(head)
    assert COUNT(head) <= tokens
    first, _, last = both_ends(text, tokens, len).partition("\n")
    if "\n" not in text:
        assert len(first) + len(last) == min(tokens, len(text))
        assert text.startswith(first)
        assert text.endswith(last)


# ---- runs ----------------------------------------------------------------------------------------

_SAID = (
    "It was a long day and there was not much to do for anybody, so we talked about the weather and of "
    "nothing else for quite a while, which was fine with everybody in the room at that time of the day. "
    "Then Ana Gomez changed `src/shop/prices.py` and set RATE to 0.19, which fixed the TypeError for "
    "1,204 users."
)


def test_what_names_things_late_is_kept_better_than_by_its_first_tokens() -> None:
    found = retention.measured([Sample("turn", "made", _SAID)], COUNT)
    for level in retention.JUDGED:
        (kept,) = found["turn", "made", level]
        assert kept.level > kept.first
        assert 0 < kept.tokens < 1
    rows = retention.report(found)
    assert [row["what"] for row in rows] == ["turn, summary", "turn, compressed", "turn, index"]
    assert retention.beaten(rows, "first tokens", retention.JUDGED) == []


def test_rows_are_averages_over_texts_and_over_each_set() -> None:
    kept = {
        ("code", "a", "summary"): [Kept(1, 0.5, 0, 0.5), Kept(0, 0.5, 1, 0.5)],
        ("code", "b", "summary"): [Kept(0.2, 0.8, 0.2, 0.4)],
    }
    every, *sets = retention.report(kept, sets=True)
    assert every == {
        "what": "code, summary",
        "texts": 3,
        "kept": 40.0,
        "first tokens": 60.0,
        "first and last": 40.0,
        "tokens": 46.7,
    }
    assert [row["what"] for row in sets] == ["code, summary, a", "code, summary, b"]
    assert retention.beaten([every], "first tokens", ["summary"]) == ["code, summary"]
    assert retention.beaten([every], "first tokens", ["index"]) == []


def trajectories(data: Path) -> None:
    steps: list[dict[str, str | None]] = [
        {
            "action": "open src/shop.py 12\n",
            "observation": _SAID,
            "thought": f"{_SAID} If a price is negative, raise an error.",
        }
    ]
    steps += [{"action": f"python test_{n}.py --verbose", "observation": str(n)} for n in range(30)]
    listed = "\n".join(f"{n}:def rate_{n}(basket_{n}): return {n}" for n in range(60))
    steps += [{"action": "submit", "observation": listed, "thought": None}]
    history = [{"role": "system", "content": f"# Rules\n{_SAID}"}]
    whole = {"trajectory": steps, "history": history, "info": {}}
    (data / "swe-agent" / "b.traj").write_text(json.dumps(whole))
    call = {"function": {"name": "book", "arguments": '{"id": "HAT012"}'}}
    said = [
        {"role": "system", "content": f"Policy\n## Book\n{_SAID}"},
        {"role": "user", "content": _SAID},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "content": json.dumps([{"flight": f"HAT{n}", "price": n} for n in range(90)]),
        },
    ]
    written(data / "tau-bench", "z.json", [{"task_id": 1, "traj": said}])


def test_every_kind_comes_out_of_the_data(tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    trajectories(data)
    found = retention.samples(data)
    assert {one.kind for one in found} == set(retention.KINDS)
    assert len(found) == len(set(found))
    steps = [one.steps for one in found if one.kind == "workflow"]
    assert ("book " + '{"id": "HAT012"}',) in steps
    assert any(one[:2] == ("open src/shop.py 12", "python test_0.py --verbose") for one in steps)
    code = [one.text for one in found if one.kind == "code"]
    assert code == ["\n".join(f"def rate_{n}(basket_{n}): return {n}" for n in range(60))]


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.retention", *words])
    retention.main()


def test_a_whole_run_says_where_a_cut_keeps_as_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_folder(tmp_path)
    trajectories(data)
    run(monkeypatch, str(data), "--json")
    told = strict(capsys.readouterr().out)
    by_name = {row["what"]: row for row in told["rows"]}
    assert by_name["tool_output, summary"]["kept"] > by_name["tool_output, summary"]["first tokens"]
    run(monkeypatch, str(data), "--sets")
    out = capsys.readouterr().out
    assert "tool_output, summary, tau-bench" in out
    assert "the first tokens keep as much: " in out
    assert "the first and last tokens keep as much: " in out


def test_data_without_texts_is_said_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="no text"):
        run(monkeypatch, str(tmp_path))
    for name, entry in (("locomo", LOCOMO), ("beam", BEAM)):
        (tmp_path / name).mkdir()
        written(tmp_path / name, "x.json" if name == "locomo" else "x.jsonl", [entry])
    with pytest.raises(SystemExit, match="leaves anything out"):
        run(monkeypatch, str(tmp_path))
    (tmp_path / "tau-bench").mkdir()
    (tmp_path / "tau-bench" / "y.json").write_text("[]x")
    with pytest.raises(SystemExit, match=r"y\.json"):
        run(monkeypatch, str(tmp_path))

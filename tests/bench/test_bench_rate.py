"""The rating by people: what is asked about, what the keys mean, the sums, whole sittings."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from bench import rate
from bench.rate import Entry, Rating, entries, packs, rated, report, wilson
from holdfast.model.packs import Pack, Weighed
from tests.bench.test_bench_scale import strict

QUERY = "On which port does the billing service listen?"


def entry(number: int, *, shown: bool = True) -> Entry:
    return Entry(
        pack=f"pck_{number // 2}",
        query="which port?",
        id=f"mem_{number}",
        kind="memory",
        shown=shown,
        verdict="taken" if shown else "floor",
        text=f"text {number}",
    )


def filled(home: Path, contexts: int = 2) -> None:
    """A project where more is known than a small budget shows."""
    with holdfast.open(home, project="p", user="ana") as hf:
        for n in range(24):
            hf.remember(f"The billing service {n} listens on port {8000 + n} and never sleeps.")
        for n in range(contexts):
            with hf.session(agent="coder") as s:
                s.user(f"{QUERY} {n}")
                s.context(f"{QUERY} {n}", budget=300)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("rated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_EMBEDDER", "none")
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        filled(folder / "home")
        yield folder / "home"


# ---- what is asked about -------------------------------------------------------------------------


def test_as_many_that_were_shown_as_were_not_and_each_text_once(home: Path) -> None:
    with holdfast.open(home, project="p", user="ana") as hf:
        newest, before = packs(hf, 10)
        assert (newest.receipt.query, before.receipt.query) == (f"{QUERY} 1", f"{QUERY} 0")
        assert [one.id for one in packs(hf, 1)] == [newest.id]
        assert packs(hf, 10, "ben") == []
        for most in (1, 3):
            found = entries(hf, newest, most)
            assert len(found) == 2 * most
            assert sum(one.shown for one in found) == most
            assert len({one.text for one in found}) == len(found)
        assert entries(hf, newest, 3) == found
        verdicts = {one.shown.id: one.verdict for one in newest.receipt.candidates}
        for one in found:
            assert one.shown == (one.verdict == "taken")
            assert verdicts[one.id] == one.verdict
            event = hf.log.find(one.id)
            assert one.text == (hf.get(one.id).text if event is None else event.words)


def test_what_is_gone_is_not_asked_about_nor_a_context_that_left_nothing_out(home: Path) -> None:
    with holdfast.open(home, project="p", user="ana") as hf:
        pack = packs(hf, 1)[0]
        candidates = pack.receipt.candidates
        for lost in ("mem_01M7JCC4WYRK679ZHHZ9JQFG9T", "evt_01M7JCC4WYRK679ZHHZ9JQFG9T"):
            gone = tuple(replace(one, shown=replace(one.shown, id=lost)) for one in candidates)
            assert entries(hf, with_candidates(pack, gone), 99) == []
        taken = tuple(one for one in candidates if one.verdict == "taken")
        assert entries(hf, with_candidates(pack, taken), 99) == []
        shown_already = tuple(replace(one, verdict="duplicate") for one in candidates)
        assert entries(hf, with_candidates(pack, (*taken, *shown_already)), 99) == []


def test_parts_of_documents_are_asked_about_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    told = "The billing service has the port {0}.\n" + "It waits for {0} more guests there.\n" * 30
    said = [f"## Service {n}\n\n{told.format(8000 + n)}" for n in range(12)]
    (root / "docs/ports.md").write_text("# Ports\n\n" + "\n\n".join(said) + "\n")
    with holdfast.open(tmp_path / "home", project="p", user="ana") as hf:
        hf.documents.add("docs/*.md", root=root)
        with hf.session(agent="coder") as s:
            s.context(QUERY, budget=400)
        pack = packs(hf, 1)[0]
        found = entries(hf, pack, 3)
        assert [one.kind for one in found] == ["document"] * 6
        assert sum(one.shown for one in found) == 3
        # the same without where in the text it lies
        bare = [replace(one, shown=replace(one.shown, span=())) for one in pack.receipt.candidates]
        for one in [*found, *entries(hf, with_candidates(pack, tuple(bare)), 3)]:
            place, text = one.text.split("\n", 1)
            path, line = place.split(":")
            lines = (root / path).read_text().split("\n")
            assert "\n".join(lines[int(line) - 1 :]).startswith(text)
            assert "guests" in text
        lost = replace(
            bare[0], shown=replace(bare[0].shown, id="evt_01M7JCC4WYRK679ZHHZ9JQFG9T:1-3")
        )
        assert rate._text(hf, lost, "ana", pack.receipt.at) == ""


def with_candidates(pack: Pack, candidates: tuple[Weighed, ...]) -> Pack:
    return replace(pack, receipt=replace(pack.receipt, candidates=candidates))


# ---- keys ----------------------------------------------------------------------------------------


@given(st.text("unsqx \nUN", max_size=12), st.integers(0, 6))
def test_each_key_that_means_something_is_one_rating_until_somebody_stops(
    typed: str, number: int
) -> None:
    keys = iter(typed)
    found = list(rated([entry(n) for n in range(number)], lambda: next(keys, "")))
    meant = [key for key in typed.casefold() if key in "unsq"]
    meant = meant[: meant.index("q")] if "q" in meant else meant
    said = {"u": "useful", "n": "not", "s": "skip"}
    assert [one.rating for one in found] == [said[key] for key in meant][:number]
    assert [one.entry for one in found] == [entry(n) for n in range(len(found))]


def test_nothing_on_the_screen_tells_what_was_shown(capsys: pytest.CaptureFixture[str]) -> None:
    screens = []
    for shown in (True, False):
        list(rated([entry(n, shown=shown) for n in range(3)], lambda: "u"))
        screens.append(capsys.readouterr().err)
    assert screens[0] == screens[1]
    assert screens[0].count("=== asked: which port?") == 2
    long = replace(entry(0), text="\x1b[31mred " + "x" * 3_000)
    list(rated([long], lambda: "s"))
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "x" * 1_100 in said
    assert "x" * 1_300 not in said


def test_keys_come_from_what_is_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("un"))
    assert [rate.from_keyboard() for _ in range(3)] == ["u", "n", ""]


# ---- sums ----------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_holds_the_share_and_narrows(good: int, bad: int) -> None:
    of = good + bad
    low, high = wilson(good, of)
    assert 0 <= low <= high <= 1
    if of:
        assert low <= good / of <= high
        assert (low == 0, high == 1) == (good == 0, bad == 0)
        narrow_low, narrow_high = wilson(4 * good, 4 * of)
        assert narrow_high - narrow_low < high - low
    assert wilson(bad, of) == pytest.approx((1 - high, 1 - low))


def test_shares_by_hand() -> None:
    ratings = [Rating(entry=entry(n), rating="useful" if n < 3 else "not") for n in range(4)]
    ratings += [Rating(entry=entry(n, shown=False), rating="skip") for n in range(2)]
    shown, hidden = report(ratings)
    assert (shown["n"], shown["useful"], shown["useful %"], shown["skipped"]) == (4, 3, 75.0, 0)
    assert (shown["95 % from"], shown["to"]) == (30.1, 95.4)
    assert (hidden["n"], hidden["useful %"], hidden["skipped"]) == (0, None, 2)
    assert (hidden["95 % from"], hidden["to"]) == (0.0, 100.0)


# ---- whole sittings ------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.rate", *words])
    rate.main()


def test_a_sitting_is_kept_line_by_line_and_summed_up(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, out = tmp_path / "answers", tmp_path / "ratings.jsonl"
    answers.write_text("u n u s q u")
    words = (str(home), "--project", "p", "--entries", "2", "--answers", str(answers))
    for times in (1, 2):
        run(monkeypatch, *words, "--out", str(out), "--json")
        rows = strict(capsys.readouterr().out)["rows"]
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [one["rating"] for one in lines] == ["useful", "not", "useful", "skip"] * times
    for row, shown in zip(rows, (True, False), strict=True):
        mine = [one["rating"] for one in lines[4:] if one["shown"] is shown]
        assert row["n"] == sum(one != "skip" for one in mine)
        assert row["useful"] == mine.count("useful")
    assert lines[0].keys() == {"pack", "query", "id", "kind", "shown", "verdict", "rating"}
    run(monkeypatch, *words)
    assert "not shown" in capsys.readouterr().out


def test_what_cannot_be_rated_is_said(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=r"bench\.rate: nothing is kept for q"):
        run(monkeypatch, str(home), "--project", "q")
    with pytest.raises(SystemExit, match=r"bench\.rate: no context here"):
        run(monkeypatch, str(home), "--project", "p", "--user", "ben")
    with pytest.raises(SystemExit, match=r"bench\.rate: .*nowhere"):
        run(monkeypatch, str(home), "--project", "p", "--answers", str(tmp_path / "nowhere"))
    for wrong in (("--packs", "0"), ()):
        with pytest.raises(SystemExit) as caught:
            run(monkeypatch, str(home), *wrong)
        assert caught.value.code == 2

"""The commands about items, as a person and as a machine uses them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)

ME = ("--agent", "coder")


@pytest.fixture
def project(run: Any) -> Any:  # noqa: F811
    run("init")
    return run


def save(project: Any, *words: str) -> dict[str, Any]:
    saved: dict[str, Any] = project("items", "save", *words, *ME, "--json").json
    return saved


def test_an_item_is_saved_shown_and_listed(project: Any) -> None:
    made = save(project, "Build the login page", "--type", "TASK", "--tag", "ui")
    assert (made["tier"], made["type"], made["tags"]) == ("HOT", "TASK", ["ui"])
    assert not {"said", "cut"} & made.keys()
    shown = project("items", "show", made["id"], "--json").json
    assert shown["tokens"] > 0
    assert shown["text"] == "Build the login page"
    page = project("items", "show", made["id"]).out
    assert all(said in page for said in ("Build the login page", "HOT", "sha256"))
    listed = project("items", "list").out
    assert all(said in listed for said in (made["id"], "Build the login page", "HOT", "1.000"))
    assert "Saved: x = 1" in project("items", "save", "x", "=", "1", *ME).out
    assert len(project("items", "list", "--tier", "WARM", "--json").json) == 1
    assert project("items", "list", "--type", "ERROR", "--json").json == []
    assert "No items match" in project("items", "list", "--agent", "nobody").out


def test_a_file_is_saved_and_saved_again(project: Any, tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("def f():\n    pass\n", "utf-8")
    made = save(project, "--file", str(file))
    assert made["text"] == "def f():\n    pass\n"
    file.write_text("def g():\n    pass\n", "utf-8")
    out = project("items", "save", "--file", str(file), "--id", made["id"], *ME).out
    assert "revision 1" in out
    assert project("items", "save", "x", "--file", str(file), *ME).code != 0
    assert project("items", "save", *ME).code != 0
    assert project("items", "save", "x").code != 0


def test_loading_counts_and_listing_does_not(project: Any) -> None:
    made = save(project, "Build it", "--type", "TASK")
    project("items", "list")
    assert "Build it" in project("items", "load", *ME).out
    (loaded,) = project("items", "load", *ME, "--json").json
    assert (loaded["id"], loaded["accesses"]) == (made["id"], 2)
    assert "No item of coder is COLD" in project("items", "load", *ME, "--tier", "COLD").out


def test_tiers_pins_and_stats(project: Any) -> None:
    made = save(project, "x = 1", "--importance", "0.1")
    assert "HOT" in project("items", "pin", made["id"]).out
    assert project("items", "unpin", made["id"], "--json").json["tier"] == "COLD"
    moved = project("items", "tiers", *ME, "--json").json
    assert moved["before"] == moved["after"] == {"HOT": 0, "WARM": 0, "COLD": 1}
    assert "before" in project("items", "tiers", *ME).out
    stats = project("items", "stats", "--json").json
    assert (stats["total_items"], stats["cold_count"]) == (1, 1)
    assert stats["hashes"] == {made["id"]: made["sha256"]}
    assert "o200k_base" in project("items", "stats").out


def test_a_diff_with_what_was_then(project: Any, tmp_path: Path) -> None:
    made = save(project, "one")
    for name in ("stats", "list"):
        then = tmp_path / f"{name}.json"
        then.write_text(json.dumps(project("items", name, "--json").json), "utf-8")
    save(project, "other", "--id", made["id"])
    new = save(project, "new")
    for name in ("stats", "list"):
        found = project("items", "diff", str(tmp_path / f"{name}.json"), *ME, "--json").json
        assert [one["id"] for one in found["changed"]] == [made["id"]]
        assert [one["id"] for one in found["added"]] == [new["id"]]
    out = project("items", "diff", str(tmp_path / "list.json"), *ME).out
    assert "changed" in out
    assert "0 items unchanged" in out
    (tmp_path / "odd").write_text("{", "utf-8")
    assert project("items", "diff", str(tmp_path / "odd"), *ME).code != 0


def test_what_is_not_there_is_said(project: Any) -> None:
    for command in ("show", "pin", "unpin"):
        answer = project("items", command, "itm_none")
        assert answer.code == 3
        assert "items list" in answer.err + answer.out


def test_recall_finds_items(project: Any) -> None:
    made = save(project, "The walrus enclosure opens at nine", "--type", "NOTE")
    found = project("recall", "walrus enclosure", "--kind", "item", "--json").json
    assert found["hits"][0]["item"]["id"] == made["id"]
    assert "item NOTE of coder" in project("recall", "walrus enclosure").out


def test_standard_input_and_any_case_of_a_tier_are_taken(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    saved = project("items", "save", "--file", "-", "--agent", "coder", "--type", "TASK", "--json")
    assert saved.json["text"] == "from a pipe"
    listed = project("items", "list", "--tier", "hot", "--json").json
    assert [one["id"] for one in listed] == [saved.json["id"]]
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(listed)))
    found = project("items", "diff", "-", "--agent", "coder", "--json").json
    assert found["unchanged"] == [saved.json["id"]]
    assert project("items", "list", "--tier", "tepid").code == 2

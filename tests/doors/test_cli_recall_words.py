"""What the commands about memories and recall say to a person: help, answers, errors."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

import holdfast
from holdfast.doors.cli import app, show
from holdfast.errors import Invalid
from holdfast.model.embed import Chosen
from tests.doors.test_cli import run  # noqa: F401  (a fixture)
from tests.recall.test_recall_degrades import closed_port, configured

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e"


@pytest.fixture
def project(run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    run("init")
    return run


def flat(text: str) -> str:
    """A text as it reads, however it was wrapped."""
    return " ".join(text.split())


# ---- help ------------------------------------------------------------------------------------


COMMANDS = [("forget",), ("used",), ("memory", "list"), ("memory", "show"), ("recall",)]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_in_whose_name_a_memory_is_asked_for(
    project: Any, command: tuple[str, ...]
) -> None:
    said = flat(project(*command, "--help").out)
    assert "--user STR In whose name. Default: yours." in said
    assert "--agent STR As this agent" in said
    assert "Only this agent's sessions" not in said
    assert "Whose sessions" not in said


def test_help_shows_no_default_that_says_nothing(project: Any) -> None:
    page = app.generate_docs(output_format="markdown")
    pages = [project(*command, "--help").out for command in COMMANDS]
    pages.append(project("remember", "--help").out)
    for noise in ("--empty-", "--no-explain", "default: ()", 'default: ""'):
        assert not any(noise in one for one in (page, *pages))
    assert not any("default: False" in one for one in pages)
    assert "default: 10" in page
    assert "default: current" in page


def test_every_option_of_the_list_says_what_it_does(project: Any) -> None:
    for name in ("scope", "kind", "category", "key", "applies-to", "state", "limit"):
        line = next(
            line for line in project("memory", "list", "--help").out.splitlines() if name in line
        )
        assert re.search(rf"--{name} (STR|CHOICE|INT) +[A-Z][a-z]+ ", line), line


# ---- questions -------------------------------------------------------------------------------

WORD = st.text("abcxyzäß0123456789?!'", min_size=1, max_size=8)


@settings(max_examples=8)
@given(st.lists(WORD, min_size=1, max_size=6))
@example(["which", "database", "do", "we", "use?"])
def test_a_question_is_all_its_words_quoted_or_not(project: Any, words: list[str]) -> None:
    asked = " ".join(words)
    answers = [project("recall", *given_, "--json").json for given_ in (words, [asked])]
    assert [answer["query"] for answer in answers] == [asked, asked]
    assert project("recall", "-k", "3", *words, "--scope", "all", "--json").json["query"] == asked


def test_what_is_remembered_is_all_its_words_quoted_or_not(project: Any) -> None:
    made = project("remember", "we", "use", "PostgreSQL", "--tag", "infra", "--json").json
    assert (made["text"], made["tags"]) == ("we use PostgreSQL", ["infra"])
    assert project("remember", "--", "-5", "is cold", "--json").code == 0


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_question_is_invalid_and_says_how_to_ask(project: Any, query: str) -> None:
    ran = project("recall", query)
    assert (ran.code, ran.out) == (2, "")
    assert 'holdfast recall "' in flat(ran.err)
    machine = project("recall", query, "--json")
    assert (machine.code, machine.out) == (2, "")
    assert '"Invalid"' in machine.err


@pytest.mark.parametrize("words", [("recall",), ("recall", "x", "--expalin"), ("nonsense",)])
def test_a_mistake_in_the_words_has_one_exit_code(project: Any, words: tuple[str, ...]) -> None:
    for ran in (project(*words), project(*words, "--json")):
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.strip()
        assert "Traceback" not in ran.err


def test_a_limit_out_of_bounds_is_named_as_it_was_given(project: Any) -> None:
    ran = project("recall", "x", "--limit", "0")
    assert ran.code == 2
    assert "limit" in ran.err


# ---- answers ---------------------------------------------------------------------------------


def printed(head: str, text: str, width: int) -> list[str]:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.setenv("COLUMNS", str(width))
        show.beside(Text(head), text)
    return out.getvalue().split("\n")[:-1]


@given(st.text(max_size=300), st.integers(40, 120))
@example("a long text " * 30, 80)
@example("one line\n\nand another " * 5, 60)
def test_every_line_of_a_text_begins_in_the_same_column(text: str, width: int) -> None:
    head = " 1.  35%  "
    first, *rest = printed(head, text, width)
    assert first.startswith(head.rstrip())
    assert all(line.strip() == "" or line.startswith(" " * len(head)) for line in rest)
    assert all(cell_len(line) <= width for line in (first, *rest))
    said = "".join([first[len(head) :], *rest])
    assert "".join(said.split()) == "".join(show.clean(text).split())


def test_a_long_hit_is_indented(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project("remember", "we store amounts as integers in cents " * 10)
    monkeypatch.setenv("COLUMNS", "60")
    first, *rest = project("recall", "how do we store amounts").out.split("\n\n")[0].splitlines()
    assert first.startswith(" 1. ")
    assert len(rest) > 5
    assert all(line.startswith(" " * 10) for line in rest)


@pytest.mark.parametrize("profile", ["default", "seed"])
def test_the_parts_of_a_score_stand_by_unit_and_add_up(project: Any, profile: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[recall]\nprofile = "{profile}"\n')
    one = project("remember", "we use PostgreSQL for billing", "--json").json["id"]
    project("used", one, "--verdict", "useful")
    out = project("recall", "which database do we use", "--explain").out
    rows = dict(re.findall(r"^ {10}(log odds|shares|together) +(.+)$", out, re.MULTILINE))
    named = {title: dict(re.findall(r"(\w+) ([+-]?[\d.]+)", row)) for title, row in rows.items()}
    assert not {"recency", "importance", "usage", "relevance"} & named["log odds"].keys()
    assert "person" in named["log odds"]
    assert {"recency", "importance"} <= named["shares"].keys()
    shares = sum(map(float, named["shares"].values()))
    relevance, score = float(named["together"]["relevance"]), float(named["together"]["score"])
    expected = {"default": relevance * (1 + shares), "seed": 0.4 * relevance + shares}[profile]
    assert score == pytest.approx(expected, abs=0.003)
    assert "Log odds make the relevance; shares" in flat(out)
    assert "Log odds" not in project("recall", "which database do we use").out


def test_a_broad_question_s_parts_are_explained(project: Any) -> None:
    with holdfast.open() as hf, hf.session(agent="coder") as s:
        for n in range(4):
            s.user(f"step {n}: the billing service moved to PostgreSQL number {n}")
    out = project("recall", "summarise how the billing service developed", "--explain").out
    assert re.search(r"^ {10}breadth +-0\.\d+$", out, re.MULTILINE)
    assert "exp(breadth)" in out


@pytest.mark.parametrize("dims", ["", "dims = 8\n"])
def test_a_dead_endpoint_is_noticed_once(
    project: Any, monkeypatch: pytest.MonkeyPatch, dims: str
) -> None:
    project("remember", "the marmot keeps the backups")
    monkeypatch.delenv("HOLDFAST_EMBEDDER")
    configured(closed_port())
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    path.write_text(path.read_text() + dims)
    for words in (("recall", "who keeps the backups"), ("recall", "backups", "--json")):
        ran = project(*words)
        assert ran.code == 0
        assert "marmot" in ran.out
        assert flat(ran.err).count("did not answer") == 1


# ---- what else is said -----------------------------------------------------------------------


def test_an_embedder_that_is_not_known_is_answered_with_those_that_are(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "bogus")
    ran = project("recall", "x")
    assert ran.code == 2
    assert f"HOLDFAST_EMBEDDER must be one of {', '.join(get_args(Chosen))}" in flat(ran.err)
    assert "'bogus'" in ran.err
    assert "$" not in ran.err


@pytest.mark.parametrize("arguments", [{}, {"query": "x", "top": 3}, "not json", {"query": 5}])
def test_a_tool_s_error_lists_what_it_takes(project: Any, arguments: Any) -> None:
    takes = "it takes query, scope, category, tags, limit"
    with (
        holdfast.open() as hf,
        hf.session(agent="coder") as s,
        pytest.raises(Invalid, match=takes),
    ):
        s.call_tool("memory_search", arguments)


def test_no_reason_can_move_the_cursor(project: Any) -> None:
    made = project("remember", f"a {HOSTILE}", "--json").json
    project("forget", made["id"], "--reason", f"gone {HOSTILE}")
    for words in (
        ("memory", "list", "--state", "all"),
        ("memory", "show", made["id"]),
        ("forget", made["id"], "--reason", "again"),
    ):
        ran = project(*words)
        assert "gone" in ran.out
        assert not re.search("\x1b[\\]\\[]|\x07|\u202e", ran.out)

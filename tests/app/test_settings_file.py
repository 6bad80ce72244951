"""Values are changed where they stand in a settings file, and the rest of it is as it was."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.app import settings_file
from holdfast.app.settings_file import edited, written
from holdfast.errors import Conflict, Invalid
from holdfast.settings import config_file, load

KNOBS = {"keep": 0.9, "recent": 4, "strategy": "sliding_window", "summarize": False}
BLOCKS = (
    "# a comment\n",
    "\n",
    "[log]\nwindow_ms = 30 # fast\n",
    "[compact]\nkeep = 0.5  # half\n\nrecent=20\n",
    "[ compact ] # mine\n  strategy = 'adaptive'\n# end\n",
    "[compact]\ntriggers = [\n  'tokens',\n]\n",
    "[record]\ndeny_paths = ['''\n[compact]\nkeep = 1\n''']\n",
    "compact = {keep = 0.5}\n",
    "compact.keep = 0.5\n",
    "[compose.windows]\n'my.model' = 9\n",
)
values = st.dictionaries(st.sampled_from(sorted(KNOBS)), st.none(), min_size=1).map(
    lambda names: {name: KNOBS[name] for name in names}
)


@given(st.lists(st.sampled_from(BLOCKS), max_size=4, unique=True), values, st.booleans())
def test_a_file_says_what_it_said_but_for_the_values_or_is_refused(
    blocks: list[str], changed: dict[str, Any], crlf: bool
) -> None:
    text = "".join(blocks).replace("\n", "\r\n" if crlf else "\n")
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        before = {}
        with pytest.raises(Invalid, match="not valid TOML"):
            edited(text, "compact", changed)
        return
    try:
        after = edited(text, "compact", changed)
    except Invalid as exc:
        said = str(exc)
    else:
        said = ""
    if said:
        assert "write this there yourself:\n[compact]" in said
        return
    expected = {**before, "compact": {**before.get("compact", {}), **changed}}
    assert tomllib.loads(after) == expected
    gone = [row for row in text.split("\n") if row not in after.split("\n")]
    assert all(row.strip().split("=")[0].strip() in changed for row in gone)
    for comment in ("# a comment", "# fast", "# half", "# mine", "# end"):
        assert (comment in text) == (comment in after)
    assert edited(after, "compact", changed) == after


def test_values_take_the_place_of_those_that_stand_there() -> None:
    text = "[compact]\nkeep = 0.5  # half\n\n[log]\nwindow_ms = 30\n"
    assert edited(text, "compact", {"keep": 0.9, "recent": 4}) == (
        "[compact]\nkeep = 0.9  # half\nrecent = 4\n\n[log]\nwindow_ms = 30\n"
    )
    assert edited("", "compact", {"keep": 0.9}) == "[compact]\nkeep = 0.9\n"


@pytest.mark.parametrize(
    "text", ["compact = {keep = 0.5}\n", "compact.keep = 0.5\n", '["compact"]\nkeep = 1\n']
)
def test_a_table_written_in_another_way_is_refused_with_the_lines_to_write(text: str) -> None:
    with pytest.raises(Invalid, match=r"yourself:\n\[compact\]\nkeep = 0.9"):
        edited(text, "compact", {"keep": 0.9})


def test_a_copy_of_the_file_lies_beside_it() -> None:
    path = config_file()
    path.parent.mkdir(parents=True)
    path.write_text("[compact]\nkeep = 0.5\n")
    assert written("compact", {"keep": 0.9}, lambda: load().compact.keep == 0.9) == str(path)
    assert Path(str(path) + settings_file.BEFORE).read_text() == "[compact]\nkeep = 0.5\n"


def test_where_another_file_sets_the_same_everything_is_put_back() -> None:
    path = config_file()
    path.parent.mkdir(parents=True)
    path.write_text("[compact]\nkeep = 0.5\n")
    (path.parent / "context-config.yaml").write_text("COMPACTION_TRIGGER_PCT: 0.2\n")
    with pytest.raises(Conflict, match=r"context-config\.yaml"):
        written("compact", {"compact_at": 0.4}, lambda: load().compact.compact_at == 0.4)
    assert path.read_text() == "[compact]\nkeep = 0.5\n"
    assert load().compact.compact_at == 0.2


@pytest.mark.parametrize("text", [None, "[compact]\nkeep = 0.5\n"])
def test_what_does_not_come_into_force_is_undone(text: str | None) -> None:
    path = config_file()
    if text is not None:
        path.parent.mkdir(parents=True)
        path.write_text(text)
    with pytest.raises(Conflict, match="as it was"):
        written("compact", {"keep": 0.9}, lambda: False)
    assert (path.read_text() if path.exists() else None) == text

    def broken() -> bool:
        raise Invalid("no")

    with pytest.raises(Invalid, match="no"):
        written("compact", {"keep": 0.9}, broken)
    assert (path.read_text() if path.exists() else None) == text

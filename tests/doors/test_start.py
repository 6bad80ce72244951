"""`holdfast hook` ends with 0 whatever it is told: some hosts stop when a hook fails."""

from __future__ import annotations

import subprocess
import sys

import pytest


def ran(*words: str, stdin: str = "{}") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words], input=stdin, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-x"],
        ["--nope"],
        ["message-received", "extra"],
        ["message-received", "--nope"],
        ["no-such-verb"],
        ["--home"],
        ["--home", "/nowhere"],
        ["--version"],
        ["\udcff"],
    ],
)
def test_wrong_words_are_named_and_end_well(words: list[str]) -> None:
    done = ran("hook", *words)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("holdfast hook")


def test_help_is_help() -> None:
    done = ran("hook", "--help")
    assert done.returncode == 0
    assert "message-received" in done.stdout


@pytest.mark.parametrize("words", [["--home", "HOME"], ["--home=HOME"]])
@pytest.mark.parametrize("first", [True, False])
def test_a_home_may_be_named_before_and_after_the_verb(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], first: bool
) -> None:
    place = tmp_path_factory.mktemp("there")
    (place / "shop" / ".git").mkdir(parents=True)
    told = [word.replace("HOME", str(place / "home")) for word in words]
    line = [*told, "message-received"] if first else ["message-received", *told]
    said = f'{{"text": "hi", "cwd": "{place / "shop"}"}}'
    done = ran("hook", *line, stdin=said)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((place / "home").glob("unclaimed/*/spool/*"))) == 1

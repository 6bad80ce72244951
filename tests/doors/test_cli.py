"""The command line, as a person and as a machine uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.doors.cli import main


class Ran:
    """What one command answered."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capsys.readouterr()
        return Ran(int(str(ended.value.code or 0)), out, err)

    return call


def record(*texts: str) -> None:
    with holdfast.open() as hf, hf.session(agent="a") as s:
        for text in texts:
            s.user(text)


def damage(old: bytes, new: bytes) -> None:
    with holdfast.open() as hf:
        path = Path(hf.folder) / "events.ndjson"
        path.write_bytes(path.read_bytes().replace(old, new))


def test_init_says_where_everything_is_and_can_be_repeated(run: Any) -> None:
    assert "is ready" in run("init").out
    answer = run("init", "--json").json
    assert answer["project_id"].startswith("prj_")
    assert Path(answer["root"], ".holdfast.toml").is_file()


def test_a_command_outside_any_project_says_what_to_do(run: Any) -> None:
    ran = run("verify")
    assert ran.code == 3
    assert "holdfast init" in ran.err
    assert ran.out == ""


def test_errors_are_json_for_machines(run: Any) -> None:
    ran = run("verify", "--json")
    assert json.loads(ran.err)["error"] == "NotFound"


@pytest.mark.parametrize("words", [("nonsense",), ("verify", "--nonsense"), ("import",)])
def test_a_mistake_in_the_words_is_json_for_machines_too(run: Any, words: tuple[str, ...]) -> None:
    ran = run(*words, "--json")
    assert ran.code == 2
    assert json.loads(ran.err)["error"] == "Invalid"
    assert run(*words).code != 0


def test_verify_of_a_project_nobody_made_is_not_found_and_makes_none(run: Any) -> None:
    run("init")
    assert run("verify", "--project", "misspelt").code == 3
    assert run("verify", "--project", "misspelt").code == 3


def test_verify_of_a_sound_log_ends_with_zero(run: Any) -> None:
    run("init")
    record("hello")
    assert "sound" in run("verify").out
    ran = run("verify", "--json")
    assert (ran.code, ran.json["sound"], ran.json["report"]["events"]) == (0, True, 3)


def test_verify_of_a_damaged_log_lists_it_and_ends_with_seven(run: Any) -> None:
    run("init")
    record("hello", "world")
    damage(b"hello", b"jello")
    ran = run("verify")
    assert ran.code == 7
    assert "DAMAGED" in ran.out
    assert "garbage" in ran.out
    again = run("verify", "--json")
    assert again.code == 7
    assert [d["reason"] for d in again.json["report"]["damage"]] == ["garbage", "gap"]


def test_doctor_says_what_is_wrong_and_what_to_do(run: Any) -> None:
    ran = run("doctor")
    assert ran.code == 1
    assert "holdfast init" in ran.out
    run("init")
    record("hello")
    assert run("doctor", "--json").code == 0
    with holdfast.open() as hf:
        os.chmod(hf.folder, 0o700)
        with open(os.path.join(hf.folder, "events.ndjson"), "ab") as file:
            file.write(b'{"v":2,"torn')
        os.chmod(os.path.join(hf.folder, "events.ndjson"), 0o644)
    findings = {f["check"]: f for f in run("doctor", "--json").json}
    assert not findings["tail"]["good"]
    assert not findings["privacy"]["good"]
    assert all(f["remedy"] for f in findings.values() if not f["good"])


def test_export_and_import_carry_a_log_over(run: Any, tmp_path: Path) -> None:
    run("init")
    record("hello", "a long text " * 20_000)
    file = str(tmp_path / "out.ndjson")
    assert run("export", file, "--json").json["events"] == 4
    ran = run("import", file, "--project", "other", "--restore", "--json")
    assert (ran.code, ran.json["events"], ran.json["bodies"]) == (0, 4, 1)
    assert run("import", file, "--project", "other").code == 0
    assert run("verify", "--project", "other").code == 0


def test_import_of_a_damaged_file_ends_with_seven(run: Any, tmp_path: Path) -> None:
    run("init")
    record("hello")
    file = tmp_path / "out.ndjson"
    run("export", str(file))
    file.write_bytes(file.read_bytes().replace(b"hello", b"jello"))
    ran = run("import", str(file), "--project", "other")
    assert ran.code == 7
    assert "damaged" in ran.out


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_import_of_what_cannot_be_read_is_a_sentence(run: Any, name: str) -> None:
    run("init")
    ran = run("import", name, "--project", "other")
    assert ran.code == 3
    assert f"{name} cannot be read" in ran.err
    assert "Traceback" not in ran.err
    assert run("verify", "--project", "other").code == 3  # and nothing was made


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_misspelt_option_is_not_taken_for_a_file(run: Any, verb: str) -> None:
    run("init")
    ran = run(verb, "--jsno")
    assert ran.code == 2
    assert "no option --jsno" in ran.err
    assert not Path("--jsno").exists()


def test_an_export_can_be_piped_into_an_import(run: Any) -> None:
    run("init")
    record("hello", "a long text " * 20_000)
    start = [sys.executable, "-c", "from holdfast.doors.cli import main; main()"]
    sent = subprocess.run([*start, "export", "-"], capture_output=True, check=True)
    for words, expected in (["--restore"], (4, 0)), ([], (0, 4)):
        ran = subprocess.run(
            [*start, "import", "-", "--project", "other", "--json", *words],
            input=sent.stdout,
            capture_output=True,
            check=True,
        )
        done = json.loads(ran.stdout)
        assert (done["events"], done["already_there"], done["complete"]) == (*expected, True)
    assert run("verify", "--project", "other").code == 0


def test_an_export_does_not_go_to_a_terminal(run: Any) -> None:
    run("init")
    record("\x1b[2J")
    ours, theirs = os.openpty()
    ran = subprocess.run(
        [sys.executable, "-c", "from holdfast.doors.cli import main; main()", "export"],
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    os.close(ours)
    assert ran.returncode == 2
    assert b"redirect to a file" in b" ".join(ran.stderr.split())


def test_export_without_a_body_says_so_and_ends_with_seven(run: Any, tmp_path: Path) -> None:
    run("init")
    record("a long text " * 20_000)
    with holdfast.open() as hf:
        next(Path(hf.folder).glob("blobs/*/*")).unlink()
    file = str(tmp_path / "out.ndjson")
    ran = run("export", file)
    assert ran.code == 7
    assert "1 bodies are missing or damaged" in ran.err
    ran = run("export", file, "--json")
    assert (ran.code, ran.json["bad_bodies"]) == (7, 1)
    ran = run("export")
    assert ran.code == 7
    assert "1 bodies are missing or damaged" in ran.err
    assert "holdfast_export_end" in ran.out


def test_restore_over_other_events_is_a_conflict(run: Any, tmp_path: Path) -> None:
    run("init")
    record("hello")
    file = str(tmp_path / "out.ndjson")
    run("export", file)
    assert run("import", file, "--restore").code == 0  # the very same, so nothing is to do
    record("more")
    ran = run("import", file, "--restore")
    assert ran.code == 4
    assert "holds other events" in ran.err


def test_reset_needs_force_and_sets_aside(run: Any) -> None:
    run("init")
    record("hello")
    assert run("reset").code == 5
    aside = run("reset", "--force", "--json").json["set_aside"]
    assert b"hello" in Path(aside, "events.ndjson").read_bytes()
    assert run("verify", "--json").json["report"]["events"] == 0
    record("again")
    assert run("reset", "--force", "--purge").code == 0
    assert run("reset", "--force").code == 3


def test_a_log_cannot_move_the_cursor_of_who_looks_at_it(run: Any, tmp_path: Path) -> None:
    run("init", "--json")
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e"
    ran = run("verify", "--project", f"x{hostile}")
    assert ran.code == 2
    assert "\x1b]" not in ran.err + ran.out
    assert "\x07" not in ran.err + ran.out
    assert "\u202e" not in ran.err + ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(run: Any, shell: str) -> None:
    ran = run("completion", shell)
    assert ran.code == 0
    assert "verify" in ran.out


def test_the_demo_kills_a_writer_and_loses_nothing(run: Any) -> None:
    ran = run("demo")
    assert ran.code == 0
    assert "SIGKILL" in ran.out
    assert "torn" in ran.out
    assert "Nothing acknowledged was lost" in ran.out
    assert "sound" in ran.out
    assert "[redacted:anthropic" in ran.out


def test_the_installed_command_starts(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from holdfast.doors.cli import main; main()", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert ran.stdout.strip() == holdfast.__version__

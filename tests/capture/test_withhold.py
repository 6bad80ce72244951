"""Content out of a file nobody should remember is withheld whole, whatever it looks like."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.capture.redact import Redactor
from holdfast.capture.withhold import denied_path, without_content

redactor = Redactor(b"k" * 32, ("*.vault",))


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"file_path": "/app/.env"}, "/app/.env"),
        ({"input": {"file_path": "/home/u/.ssh/id_ed25519"}}, "/home/u/.ssh/id_ed25519"),
        ({"a": [{"b": [{"path": "x/server.pem"}]}]}, "x/server.pem"),
        ({"paths": ["README.md", "prod.env"]}, "prod.env"),
        ({"input": {"command": "cat .env | grep KEY"}}, ".env"),
        ({"args": ["cat", "config/.env.production"]}, "config/.env.production"),
        ({"file": "x/letters.vault"}, "x/letters.vault"),
        ({"uri": "file:///app/.env"}, "file:///app/.env"),
        ({"filePath": "/app/.env"}, "/app/.env"),
        ({"absolute_path": "/app/.env"}, "/app/.env"),
        ({"Path": "/app/.env"}, "/app/.env"),
    ],
)
def test_a_denied_path_is_found_where_paths_stand(payload: dict[str, Any], path: str) -> None:
    assert denied_path(payload, redactor) == path


@pytest.mark.parametrize(
    "payload",
    [
        {"file_path": "/app/main.py", "text": "see .env for details"},
        {"file_path": "/app/.env.example"},
        {"command": "ls -la"},
        {"text": "/app/.env"},
        {},
        {"file_path": 7, "path": None, "command": True},
    ],
)
def test_other_payloads_are_left_alone(payload: dict[str, Any]) -> None:
    assert denied_path(payload, redactor) is None


@pytest.mark.parametrize("path", [Path("/app/.env"), b"/app/.env"], ids=["Path", "bytes"])
def test_a_path_is_a_path_in_whatever_form_the_shaper_takes_it(path: object) -> None:
    assert denied_path({"file_path": path}, redactor) is not None


def test_every_other_text_is_replaced() -> None:
    payload = {
        "tool": "Read",
        "input": {"file_path": "/app/.env", "limit": 3},
        "output": {"content": "plain words", "lines": ["one", {"deep": "two"}]},
        "text": b"three",
        "stream": io.BytesIO(b"four"),
        "array": bytearray(b"five"),
        "ok": True,
    }
    made = without_content(payload, "/app/.env", redactor)
    assert isinstance(made, dict)
    said = repr(made)
    for word in ["plain words", "one", "two", "three", "four", "five"]:
        assert f"'{word}'" not in said
        assert word not in said.replace("[redacted:denied-file", "")
    assert made["tool"] == "Read"
    assert made["input"] == {"file_path": "/app/.env", "limit": 3}
    assert made["ok"] is True
    assert "withheld" in made["text"]


def test_a_view_of_memory_is_content_too() -> None:
    made = without_content({"text": memoryview(b"plain words")}, "/app/.env", redactor)
    assert isinstance(made, dict)
    assert not isinstance(made["text"], memoryview)
    assert "withheld" in made["text"]


def test_equal_content_leaves_the_same_mark() -> None:
    made = without_content({"a": "x", "b": "x", "c": "y"}, ".env", redactor)
    assert isinstance(made, dict)
    assert made["a"] == made["b"] != made["c"]


def test_a_deep_or_circular_payload_is_survived() -> None:
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    assert denied_path(cycle, redactor) is None


# ---- commands ----------------------------------------------------------------------------------

WRITING = [
    "cat > .env <<'EOF'\nADMIN=GARDEN PARTY\nEOF",
    "cat <<-EOF >>.env\n\tADMIN=GARDEN\n\tEOF\nmake check",
    "cat <<A <<B > .env\nGARDEN\nA\nPARTY\nB",
    "cat <<EOF > .env\nGARDEN and no end",
    'python3 - <<"END"\nopen(".env", "w").write("GARDEN PARTY")\nEND',
    'echo "ADMIN=GARDEN PARTY" >> .env',
    "echo ADMIN=GARDEN >.env",
    "echo GARDEN PARTY > .env",
    "> .env echo GARDEN",
    'echo "GARDEN',
    'echo "A=1\nB=GARDEN\n" > "$HOME/app/.env"',
    "printf '%s' GARDEN | sudo tee -a .env > /dev/null",
    "tee .env <<< GARDEN",
    "{ echo GARDEN; echo PARTY; } > .env",
    "for x in GARDEN PARTY; do echo $x; done >> .env",
    "X=GARDEN; echo $X > .env",
    "ADMIN=GARDEN env | cat > .env",
    "sed -i 's/.*/GARDEN/' .env",
    "sed -i s/A=.*/A=GARDEN/ .env",
    'sh -c "echo GARDEN > .env"',
    "python -c \"open('.env', 'w').write('GARDEN')\"",
    "echo 'A=GARDEN' > new && mv new .env",
]


@pytest.mark.parametrize("command", [*WRITING, "echo 'GARDEN' > .env " + "x " * 20_000])
@pytest.mark.parametrize("key", ["command", "args"])
def test_what_a_command_writes_into_a_denied_file_is_withheld(command: str, key: str) -> None:
    payload = {"input": {key: command if key == "command" else ["sh", "-c", command]}}
    path = denied_path({"command": command + " .env"}, redactor)
    assert path is not None
    said = repr(without_content(payload, path, redactor))
    assert "GARDEN" not in said
    assert "PARTY" not in said
    assert "withheld" in said


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat .env | grep KEY | head -3",
        'grep -n "ADMIN" app/.env',
        "cd app && cat '.env' 2>/dev/null; ls",
        "cp .env.example .env",
        "docker compose --env-file .env up -d",
        "docker run --env-file=.env image",
        "source .env && pytest -q tests/cart",
        'git commit -m "Nobody commits .env"',
    ],
)
def test_of_a_command_that_reads_nothing_is_lost(command: str) -> None:
    assert without_content({"command": command}, ".env", redactor) == {"command": command}


def test_what_was_done_stays_to_be_seen() -> None:
    told = "cd app && echo 'A=1' >> .env && docker compose up -d\ncat > .env <<EOF\nA=2\nEOF\nls"
    made = without_content({"command": told}, ".env", redactor)
    assert isinstance(made, dict)
    for part in ("cd app && echo [", " >> .env && docker compose up -d\n", ".env <<EOF\n[", "\nls"):
        assert part in made["command"]


@given(st.text(alphabet="aE '\"\\\n<>|&;(){}=$\0-.") | st.text())
def test_any_command_is_survived(command: str) -> None:
    made = without_content({"command": command}, ".env", redactor)
    assert isinstance(made, dict)
    assert isinstance(made["command"], str)


@given(st.text(alphabet=" \n;&|<>-$x"), st.text(alphabet=" \n;&|<>-$x"))
def test_a_quoted_word_never_gets_through_to_a_denied_file(before: str, after: str) -> None:
    made = without_content({"command": f"{before} echo 'GARDEN' > .env {after}"}, ".env", redactor)
    assert "GARDEN" not in repr(made)


def test_a_session_that_records_such_a_call_leaves_no_byte_of_it(tmp_path: Path) -> None:
    (tmp_path / ".holdfast.toml").write_text('project_id = "shop"\n')
    with holdfast.open(str(tmp_path / "home"), path=tmp_path) as hf:
        session = hf.session(agent="coder")
        for command in WRITING:
            session.tool_call("Bash", {"command": command + "; ls .env"})
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert b"GARDEN" not in b"".join(path.read_bytes() for path in files)

"""Names: what a text names exactly is found, and prose is not taken for a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.entities import LONGEST_NAME, MOST, entities
from tests.text.strange import HOSTILE, texts

_prose = st.text("abcdefghijklmnopqrstuvwxyzäéжλ", min_size=1, max_size=12)
_EXAMPLES = """
src/auth/login.ts /etc/hosts ~/notes.md ./run.sh ../lib/a.py a/b/c C:\\Users\\x\\a.txt @types/node
login.ts .gitignore README.md parseJsonFile PostgreSQL get_user_id MAX_SIZE __init__ get_user_id() run()
os.path.join std::vector TypeError ValueError KeyboardInterrupt TS2345 E0425 ERR_CONN_REFUSED ENOENT
SIGKILL 0x80070005 --dry-run --force -v v1.2.3 v2 1.2.3 2.0.0-beta.1 a3f9c21
da39a3ee5e6b4b0d3255bfef95601890afd80709 #123 owner/repo#12 ADR-012 CVE-2024-12345 user@example.com
"""
_NAMES = _EXAMPLES.split()


@given(texts)
def test_names_are_short_unique_and_not_blank(text: str) -> None:
    found = entities(text)
    assert len(found) == len(set(found)) <= MOST
    for name in found:
        assert name.strip()
        assert len(name) <= LONGEST_NAME
        assert "\n" not in name


@given(st.lists(_prose, max_size=12), st.sampled_from([" ", ", ", ". ", "! ", "; "]))
def test_words_of_prose_are_no_names(words: list[str], between: str) -> None:
    assert entities(between.join(words)) == ()
    assert entities(between.join(word.capitalize() for word in words)) == ()


@given(st.lists(st.sampled_from(_NAMES), unique=True, max_size=12), st.lists(_prose, min_size=13))
def test_names_among_prose_are_found_in_order(names: list[str], words: list[str]) -> None:
    told = " ".join(f"{word} {name}," for word, name in zip(words, names, strict=False))
    assert entities(told) == tuple(names)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("around", ["{}", "see {}.", "({})", "in {}: it", "*{}*", "x={}", "{}!"])
def test_a_name_is_found_whatever_stands_around_it(name: str, around: str) -> None:
    assert name in entities(around.format(name))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("`git rebase -i` fails", ["git rebase -i", "-i"]),
        ('he said "see you" and “bye”', ["see you", "bye"]),
        ("a 'quoted part' isn't Ann's, is it's", ["quoted part"]),
        ("「日本」 «ici»", ["日本", "ici"]),
        ('"' + "a" * 61 + '"', []),
        ('"..." `-` ""', []),
        ("https://user:word@example.com/a/b?q=1#top", ["example.com/a/b"]),
        ("at src/a.py:12:3 now", ["src/a.py"]),
        ("and/or he/she 1/2 5/3/2023 km/h 3.14 10:30 e.g. U.S. 20230503 defaced", []),
        ("a long walk - in the park -- at night", []),
    ],
)
def test_examples(text: str, names: list[str]) -> None:
    assert entities(text) == tuple(names)


def test_what_comes_after_the_limit_is_left_aside() -> None:
    names = [f"name_{number}" for number in range(MOST + 9)]
    assert entities(" ".join(names)) == tuple(names[:MOST])
    assert len(entities(" ".join(f"`{name} x`" for name in names))) == MOST


@pytest.mark.parametrize("name", HOSTILE)
def test_a_million_characters_of_anything(name: str) -> None:
    assert len(entities(HOSTILE[name])) <= MOST

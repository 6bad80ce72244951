"""Words: what is indexed is found, by the whole and by its parts, in every script."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.folding import fold
from holdfast.text.words import LONGEST, MOST_ASKED, analyse, asked
from tests.text.strange import HOSTILE, texts

_TOKEN = re.compile(f"[a-z0-9\x80-\U0010ffff]{{1,{LONGEST}}}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_accented = st.text(st.characters(min_codepoint=0xC0, max_codepoint=0x4FF), max_size=20)
_kana = st.text(
    st.characters(min_codepoint=0x3041, max_codepoint=0x30FA, categories=["Lo"]), max_size=20
)
_hangul = st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), max_size=20)
_devanagari = st.text(st.characters(min_codepoint=0x0900, max_codepoint=0x0963), max_size=20)
_han = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=1, max_size=20)
_thai = st.text(st.characters(min_codepoint=0x0E01, max_codepoint=0x0E2E), min_size=1, max_size=20)
_prose = st.text("abcdefghijklmnopqrstuvwxyzäéəжλ", min_size=1, max_size=12)


@given(texts)
def test_a_token_is_one_word_to_a_tokenizer_that_knows_ascii(text: str) -> None:
    for token in analyse(text):
        assert _TOKEN.fullmatch(token)
        assert not _SURROGATE.search(token)


@given(texts, texts)
def test_two_texts_have_the_words_of_the_one_and_those_of_the_other(one: str, two: str) -> None:
    assert analyse(f"{one} {two}") == analyse(one) + analyse(two)
    assert analyse(f"{one}\n{two}") == analyse(one) + analyse(two)


@given(texts)
def test_the_words_of_the_words_include_them(text: str) -> None:
    tokens = analyse(text)
    assert set(tokens) <= set(analyse(" ".join(tokens)))


@given(texts)
def test_a_question_asks_for_indexed_words_each_once(text: str) -> None:
    words = asked(text)
    assert len(words) == len(set(words)) <= MOST_ASKED
    assert set(words) <= set(analyse(text))
    assert bool(words) == bool(analyse(text))


@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_some_words_of_a_text_find_it(parts: list[str], data: st.DataObject) -> None:
    words = " ".join(parts).split()
    start = data.draw(st.integers(0, len(words)))
    end = data.draw(st.integers(start, len(words)))
    assert set(asked(" ".join(words[start:end]))) <= set(analyse(" ".join(parts)))


@given(_han | _hangul.filter(bool) | _kana.filter(bool) | _thai, st.data())
def test_any_part_of_a_run_without_spaces_finds_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    query = asked(text[start:end])
    assert query
    assert set(query) <= set(analyse(text))


@given(_accented | _kana | _hangul | _devanagari)
def test_letters_in_one_and_in_parts_are_the_same(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert analyse(composed) == analyse(unicodedata.normalize("NFD", text))


@given(texts)
def test_folding_twice_is_folding_once(text: str) -> None:
    once = fold(text)
    assert fold(once) == once
    assert not _SURROGATE.search(once)


@given(_prose)
def test_a_word_of_prose_is_one_token_however_it_is_written(word: str) -> None:
    (token,) = analyse(word)
    for written in (word.upper(), word.capitalize(), f"({word})", f'"{word}",', f"{word}'s"):
        assert analyse(written) == [token]


@given(texts)
def test_the_index_takes_the_words_as_they_are(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE t USING fts5(words, tokenize='ascii')")
        index.execute("CREATE VIRTUAL TABLE v USING fts5vocab('t', 'row')")
        index.execute("INSERT INTO t VALUES (?)", (" ".join(analyse(text)),))
        kept = {term for (term,) in index.execute("SELECT term FROM v")}
        assert kept == set(analyse(text))
        for word in asked(text):
            found = index.execute("SELECT count(*) FROM t WHERE t MATCH ?", (f'"{word}"',))
            assert found.fetchone() == (1,)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("parseJsonFile", "parse json file parsejsonfile"),
        ("get_user_id", "get user id getuserid"),
        ("HTTPServer2", "http server 2 httpserver2"),
        ("src/auth/login.ts", "src auth login ts logints"),
        ("ERR_CONN_REFUSED", "err conn refused errconnrefused"),
        ("TS2345", "ts 2345 ts2345"),
        ("E0425", "0425 e0425"),
        ("v1.2.3", "1 v1 2 3 v123 123"),
        ("#123", "123"),
        ("user@example.com", "user example com examplecom"),
        ("__init__", "init"),
        ("x86_64", "86 x86 64 x8664"),
        ("--dry-run", "dry run dryrun"),
        ("e-mail", "e mail email"),
        ("2023-05-03", "2023 05 03 20230503"),
        ("1,000.50", "1 000 1000 50 100050"),
        ("1st 22nd 10am", "1 1st 22 22nd 10 am 10am"),
        ("APIs", "api apis"),
        ("a3f9c21b", "a3f9c21b"),
        ("aGVsbG8gd29ybGQ", "agvsbg8gd29ybgq"),
        ("C++ c# i++", "c cpp c csharp i"),
        ("wait...what end--and", "wait what end and"),
        ("don't dont don’t", "dont dont dont"),
        ("Caroline's James' O'Brien I'm", "caroline james obrien im"),
        ("l'avion dell'anno f'hello'", "avion anno hello"),
        ("Größe naïve Ångström Łódź", "grosse naive angstrom lodz"),
        ("Ёлка ΑΘΗΝΑ Ελλάς", "елка αθηνα ελλασ"),
        ("İstanbul ıstanbul ISTANBUL", "istanbul istanbul istanbul"),
        ("مُحَمَّد ١٢٣", "محمد 123"),
        ("हिन्दी", "हिन्दी"),
        ("我吃苹果", "我 吃 苹 果 我吃 吃苹 苹果"),
        ("ｶﾞ ＡＢＣ ﬁne", "ガ abc fine"),
        ("iOS用户", "i os ios 用 户 用户"),
        ("co\u00adoperate a\u200bb", "cooperate a b"),
        ("!? … \x00 \ud800", ""),
    ],
)
def test_examples(text: str, tokens: str) -> None:
    assert analyse(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我", "我"),
        ("苹果 我吃苹果", "苹果 我吃 吃苹"),
        ("학교에서", "학교 교에 에서"),
        ("the cat and the dog", "the cat and dog"),
    ],
)
def test_questions(text: str, words: str) -> None:
    assert asked(text) == words.split()


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("src/auth/login.ts", "login.ts"),
        ("mailto:user@example.com", "example.com"),
        ("version v1.2.3", "1.2.3"),
        ("login-form.test.ts", "loginForm"),
        ("utf8", "UTF-8"),
        ("follow-up", "followup"),
        ("$1,000", "1000"),
        ("on May 1st", "May 1"),
        ("see https://example.com/docs/api_keys", "API keys"),
    ],
)
def test_what_is_written_one_way_is_found_in_another(written: str, wanted: str) -> None:
    assert set(asked(wanted)) <= set(analyse(written))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_million_characters_of_anything(name: str) -> None:
    tokens = analyse(HOSTILE[name])
    assert all(len(token) <= LONGEST for token in tokens)
    assert len(asked(HOSTILE[name])) <= MOST_ASKED


def test_more_characters_than_are_remembered_fold_the_same() -> None:
    every = "".join(map(chr, range(0xAFFF, 0x7F, -1)))
    assert fold(fold(every)) == fold(every)
    assert analyse("é Ж 我 ÿ") == ["e", "ж", "我", "y"]

"""How fast secrets are looked for, beside the naive way, and how often something else is taken.

    python bench/redact.py [--json]

Clean prose, the source of the standard library, and text full of secrets, each in strings of one
kilobyte and of one megabyte; then a megabyte of what tools print, also fed to a stream: one
character without end, base64 in one line and in lines of 76, a dump in hexadecimal, minified
script. The baseline runs every pattern over every string in the same process, so the ratio does not
depend on the machine. The hits on the standard library are listed by kind: it holds no live secret,
though its tests hold passwords made up for them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import sysconfig
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from holdfast.capture import secrets
from holdfast.capture.redact import Redactor

_COMMON = """the of and to in is was that for it with as on be at by this had not are but from or have
an they which one you were all her she there would their we him been has when who will no more if
out so what up said about into than them can only other time new some could these two may first then
do any like my now over such our man me even most made after also well where much before right too
means old great think should because each under found answer school important country earth thought
understanding communication environment organization"""
WORDS = _COMMON.split()
ROUNDS = 5


def prose(length: int, rng: random.Random) -> str:
    """Sentences of common words, with the punctuation of prose."""
    parts: list[str] = []
    size = 0
    while size < length:
        words = rng.choices(WORDS, k=rng.randint(6, 20))
        if rng.random() < 0.02:  # now and then a word as long as a token
            words.append("internationalization")
        sentence = " ".join(words).capitalize() + rng.choice([". "] * 14 + ["? ", ": ", ".\n\n"])
        parts.append(sentence)
        size += len(sentence)
    return "".join(parts)[:length]


def full_of_secrets(length: int, rng: random.Random) -> str:
    """A secret on every third line."""
    shapes = ("ghp_{}", "sk-ant-api03-{}", 'api_key = "{}"', "DB_PASSWORD={}", "redis://:{}@h:1/0")
    lines: list[str] = []
    size = 0
    while size < length:
        value = "".join(rng.choices(string.ascii_letters + string.digits, k=40))
        lines.append(rng.choice(shapes).format(value) + "\n" + prose(120, rng) + "\n")
        size += len(lines[-1])
    return "".join(lines)[:length]


def library() -> str:
    """The standard library's own source, without what is installed beside it."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts]
    return "".join(path.read_text("utf-8", "replace") for path in files)


def hex_dump(length: int, rng: random.Random) -> str:
    """Offset, sixteen bytes, and their characters, line by line."""
    lines: list[str] = []
    for at in range(0, length // 4, 16):
        row = rng.randbytes(16)
        shown = "".join(chr(byte) if 32 < byte < 127 else "." for byte in row)
        lines.append(f"{at:08x}: {row.hex(' ', 2)}  {shown}\n")
    return "".join(lines)[:length]


def minified(length: int, rng: random.Random) -> str:
    """Short names, no blanks, no line ends."""
    shapes = (
        "function {0}({1},{2}){{var {3}={1}.{5}||{{}};return{4}({2},{3})}}",
        '"use strict"==={0}?{1}({2},77):[].concat({3}),{4}.{5}.length>0&&!{0};',
        "for(var {0}=0;{0}<{1}.length;{0}++){2}.push({{key:{3},{5}:{4}[{0}]}});",
    )
    parts: list[str] = []
    size = 0
    while size < length:
        names = rng.choices(string.ascii_letters, k=5)
        parts.append(rng.choice(shapes).format(*names, rng.choice(WORDS)))
        size += len(parts[-1])
    return "".join(parts)[:length]


def tool_output(rng: random.Random) -> dict[str, str]:
    """A megabyte of each."""
    base64 = "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=1_000_000))
    return {
        "one character": "A" * 1_000_000,
        "base64, one line": base64,
        "base64, lines": "\n".join(cut(base64, 76, len(base64))),
        "hex dump": hex_dump(1_000_000, rng),
        "minified": minified(1_000_000, rng),
    }


def streamed(redactor: Redactor) -> Callable[[str], object]:
    """The same chunk again and again, as one long text."""
    stream = redactor.stream()
    return lambda text: [stream.feed(text) for _ in range(4)]


def naive(patterns: list[re.Pattern[str]]) -> Callable[[str], object]:
    return lambda text: [found for each in patterns for found in each.finditer(text)]


def speed(work: Callable[[str], object], texts: list[str], rounds: int) -> float:
    """Megabytes in a second of processor time, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for text in texts:
            work(text)
        best = min(best, time.process_time() - start)
    return sum(map(len, texts)) / best / 1e6


def cut(text: str, size: int, most: int) -> list[str]:
    return [text[at : at + size] for at in range(0, min(len(text), most), size)]


def measure() -> dict[str, object]:
    rng = random.Random(1)
    rows = [*secrets.RUNS, *secrets.DOTTED, *secrets.PAIRS, *secrets.PLAIN]
    baseline = naive([re.compile(row.pattern, re.ASCII) for row in rows])
    source = library()
    redactor = Redactor(b"bench" * 8)
    speeds: dict[str, dict[str, float]] = {}
    for name, text in (
        ("prose", prose(4_000_000, rng)),
        ("source", source),
        ("secrets", full_of_secrets(1_000_000, rng)),
    ):
        for label, size in (("1 kB", 1000), ("1 MB", 1_000_000)):
            speeds[f"{name}, {label}"] = {
                "MB/s": round(speed(redactor.text, cut(text, size, 4_000_000), ROUNDS), 1),
                "naive MB/s": round(speed(baseline, cut(text, size, 200_000), 1), 2),
            }
    for name, text in tool_output(rng).items():
        speeds[f"{name}, 1 MB"] = {
            "MB/s": round(speed(redactor.text, [text], ROUNDS), 1),
            "stream MB/s": round(4 * speed(streamed(redactor), [text], ROUNDS), 1),
            "naive MB/s": round(speed(baseline, cut(text, 100_000, 100_000), 1), 2),
        }
    hits = Counter(kind for _, _, kind in redactor.spans(source))
    return {
        "kinds": len(rows) + 1,
        "speed": speeds,
        "source MB": round(len(source) / 1e6, 1),
        "hits per MB of source": round(hits.total() / (len(source) / 1e6), 2),
        "hits by kind": dict(hits.most_common()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    figures = measure()
    if parser.parse_args().json:
        print(json.dumps(figures))
        return
    speeds = figures.pop("speed")
    assert isinstance(speeds, dict)
    for name, pair in speeds.items():
        stream = f"   stream {pair['stream MB/s']:6.1f} MB/s" if "stream MB/s" in pair else ""
        print(f"{name:22} {pair['MB/s']:8.1f} MB/s   naive {pair['naive MB/s']:6.2f} MB/s{stream}")
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()

"""Each kind of text by its own rule, on one text of its kind."""

from __future__ import annotations

import re

import pytest

from holdfast.text.levels import levels, shown_as, whole

TURN = """\
Thanks, Ana! I looked at the login bug this morning. Users were logged out at random, mostly on Mondays.

The root cause is in `src/auth/session.py`: the expiry check compares local time with UTC. I decided to \
store every timestamp in UTC, and the migration touches 1,204 rows.

Let me know what you think. I will be in the office until five and can walk you through it.
"""
BLOCK = '''\
Here is how I would write it, with `Session.expired` as the one place that knows about time, so nothing \
else has to change. We talked about this before, and I still think that it is the best way to go here.

```python
import time


class Session:
    """One login of one user."""

    def __init__(self, user_id, expires_at):
        self.user_id = user_id
        self.expires_at = expires_at

    def expired(self, now=None):
        now = now or time.time()
        return now > self.expires_at
```

You could also do it in the database, but then every caller has to ask for it, at the cost of a trip. \
It is up to you, really: both would do, and neither of them is much work. Please tell me until Friday.
'''
CODE = '''\
"""Prices of a shop."""
import decimal
from typing import Sequence

RATE = decimal.Decimal("0.19")


class Basket:
    """What somebody is about to buy.

    Prices are without tax.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self.items = list(items)
        self.total = decimal.Decimal(0)

    def add(self, name: str, price: decimal.Decimal) -> None:
        """Put one more thing into the basket."""
        if price < 0:
            raise ValueError("a price is never negative")
        self.items.append(name)
        self.total += price


def with_tax(basket: Basket) -> decimal.Decimal:
    """What is to be paid in the end."""
    return basket.total * (1 + RATE)
'''
SCRIPT = """\
import React from "react";

export default function App({ user }) {
  const [open, setOpen] = useState(false);
  return <Login user={user} open={open} />;
}

const useCart = async (id) => {
  const response = await fetch(`/api/cart/${id}`);
  return response.json();
};

class Store {
  load(id, options = {}) {
    if (!id) { throw new Error("no id"); }
    return this.items[id];
  }
}
"""
TESTS = f"""\
$ pytest -q tests
============================= test session starts ==============================
{"".join(f"tests/test_shop.py::test_price_{n} PASSED   [{n:3}%]" + chr(10) for n in range(1, 91))}\
tests/test_shop.py::test_refund FAILED   [100%]
=================================== FAILURES ===================================
>       assert refund(basket) == 12
E       AssertionError: assert 11.5 == 12

tests/test_shop.py:88: AssertionError
1 failed, 90 passed in 0.31s
"""
FLIGHTS = (
    '[{"flight": "HAT069", "origin": "JFK", "status": "available", "seats": {"economy": 12}}, '
    '{"flight": "HAT083", "origin": "JFK", "status": "available", "seats": {"economy": 7}}, '
    '{"flight": "HAT091", "origin": "EWR", "status": "delayed", "seats": {"economy": 0}}]'
)
PAGE = """\
# Deploying the shop

We deploy on Tuesdays from `main` with `make deploy`. It takes about 12 minutes, and nobody watches it.

| service | port | owner |
|---|---|---|
| api | 8080 | Ana |
| web | 3000 | Ben |
| worker | 9000 | Chen |

## Rolling back

Run `make rollback VERSION=1.4.2`. Please think before you act, and ask somebody when in doubt, as most \
problems solve themselves. The last time we did this in a hurry it took the whole of a very long evening.
"""
SCHEMA = """\
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    balance DECIMAL(10, 2) DEFAULT 0,
    CONSTRAINT positive CHECK (balance >= 0)
);

CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY,
    user_id INTEGER REFERENCES users(id),
    created_at TIMESTAMP DEFAULT now(),
    FOREIGN KEY (user_id) REFERENCES users(id)
);
"""


def test_a_turn_keeps_outcomes_numbers_and_names() -> None:
    found = shown_as("turn", TURN)
    assert "I decided to store every timestamp in UTC" in found.summary
    assert "The root cause is in `src/auth/session.py`" in found.summary
    assert "1,204" in found.summary
    assert "until five" not in found.summary
    assert {"Ana", "src/auth/session.py", "UTC", "1,204"} <= set(found.compressed.split())
    assert "src/auth/session.py" in found.index


def test_a_block_of_code_in_a_turn_is_its_signatures() -> None:
    short = shown_as("turn", BLOCK).summary
    assert "```python\n…\nclass Session:" in short
    assert "def expired(self, now=None): … 2 lines\n```" in short
    assert "import time" not in short
    assert "self.user_id = user_id" not in short


def test_code_is_its_signatures_with_what_is_left_out() -> None:
    found = shown_as("code", CODE)
    assert found.summary == (
        "…\n"
        "class Basket: … 2 lines\n"
        "    def __init__(self, items: Sequence[str]) -> None: … 2 lines\n"
        "    def add(self, name: str, price: decimal.Decimal) -> None: … 5 lines\n"
        "def with_tax(basket: Basket) -> decimal.Decimal: … 2 lines"
    )
    assert found.compressed.startswith("Basket, __init__, add, with_tax: ")
    assert found.index == "class Basket …"


def test_code_with_room_says_what_each_definition_is_for() -> None:
    longer = CODE + "\n" + "\n".join(f"TABLE_{n} = {n}" for n in range(60))
    short = shown_as("code", longer).summary
    assert 'class Basket:  """What somebody is about to buy.""" … 2 lines' in short
    assert 'def with_tax(basket: Basket) -> decimal.Decimal:  """What is to be paid' in short


def test_code_of_other_languages_goes_by_its_lines() -> None:
    found = shown_as("code", SCRIPT)
    heads = (
        "export default function App({ user }) {",
        "const useCart = async (id) => {",
        "class Store {",
    )
    assert all(f"\n{head}" in found.summary for head in heads)
    assert found.summary.endswith("  load(id, options = {}) { … 2 lines")
    assert "import" not in found.summary
    assert found.compressed.startswith("App, useCart, Store, load: ")
    assert found.index == "export default function App({ user }) …"


@pytest.mark.parametrize(
    "first", ["# src/shop/prices.py", "// src/shop/prices.py", "/* src/shop/prices.py */"]
)
def test_code_that_says_where_it_lies_is_called_so(first: str) -> None:
    assert shown_as("code", f"{first}\n{CODE}").index == "src/shop/prices.py …"


def test_of_a_long_path_the_end_is_shown() -> None:
    path = "somebody/code/projects/shop/src/shop/very/deeply/nested/prices.py"
    index = shown_as("code", f"# {path}\n{CODE}").index
    assert index.startswith("…/")
    assert path.endswith(index[1:])


def test_a_run_of_tests_is_what_failed() -> None:
    found = shown_as("tool_output", TESTS)
    lines = found.summary.splitlines()
    assert lines[0] == "$ pytest -q tests"
    assert "tests/test_shop.py::test_price_1 PASSED   [  1%] … 89 more like it" in lines
    assert "tests/test_shop.py::test_refund FAILED   [100%]" in lines
    assert "E       AssertionError: assert 11.5 == 12" in lines
    assert "tests/test_shop.py:88: AssertionError" in lines
    assert lines[-1] == "1 failed, 90 passed in 0.31s"
    assert found.compressed.startswith("1 failed, 90 passed in 0.31s: ")
    assert found.index == "1 failed, 90 passed in 0.31s …"


def test_errors_that_look_alike_are_shown_as_far_as_there_is_room() -> None:
    errors = [f"src/a{n}.c:{n}:5: error: 'x{n}' undeclared" for n in range(1, 40)]
    found = shown_as("tool_output", "\n".join([*errors, "make: *** [all] Error 1"]))
    assert found.summary.startswith("\n".join(errors[:3]))
    assert " more like it\nmake: *** [all] Error 1" in found.summary
    assert found.index == f"{errors[0]} …"


def test_a_terminal_shows_neither_colours_nor_what_was_overwritten() -> None:
    raw = (
        "\x1b[31mred alert\x1b[0m at dawn\n" + "-\x08 \x08\\\x08 \x08done with it\n" + "word " * 80
    )
    short = shown_as("tool_output", raw).summary
    assert "red alert at dawn" in short
    assert "\ndone with it" in short


def test_values_with_keys_say_each_key_once() -> None:
    found = shown_as("tool_output", FLIGHTS)
    assert found.summary == (
        "flight: HAT069, origin: JFK, status: available, seats: economy: 12; HAT083, JFK, available, 7; "
        "HAT091, EWR, delayed, 0 …"
    )
    assert found.index == "HAT069, JFK, available, 12; HAT083, JFK …"


def test_a_listing_is_the_code_it_lists() -> None:
    listed = "\n".join(f"{n}:{line}" for n, line in enumerate(CODE.splitlines(), 1))
    text = (
        f"[File: src/shop/prices.py (32 lines total)]\n{listed}\nERROR: E999 SyntaxError: bad input"
    )
    found = shown_as("tool_output", text)
    assert found.summary.startswith("[File: src/shop/prices.py (32 lines total)]")
    assert "8:class Basket: …" in found.summary
    assert "ERROR: E999 SyntaxError: bad input" in found.summary
    assert found.index == "ERROR: E999 SyntaxError: bad input …"
    assert shown_as("tool_output", text.rpartition("\n")[0]).index == "src/shop/prices.py …"


def test_of_a_change_what_was_added_comes_first() -> None:
    text = (
        "diff --git a/src/shop.py b/src/shop.py\nindex ad388c7..20da768 100644\n--- a/src/shop.py\n"
        "+++ b/src/shop.py\n@@ -1,9 +1,9 @@ class Basket:\n         raise ValueError(error)\n"
        "         something = else_that_stands_around\n-        return int(total)\n"
        "+        return round(total)\n         # it goes on for a while\n         more = here\n"
    )
    found = shown_as("tool_output", text)
    assert "+        return round(total)" in found.summary
    assert found.index == "a/src/shop.py …"


def test_a_page_keeps_its_heading_and_the_heads_of_its_tables() -> None:
    found = shown_as("document", PAGE)
    lines = found.summary.splitlines()
    assert lines[0] == "# Deploying the shop"
    assert "| service | port | owner |" in lines
    assert lines[1].startswith("We deploy on Tuesdays from `main` with `make deploy`.")
    assert found.compressed.startswith("Deploying the shop: ")
    assert found.index == "Deploying the shop …"


def test_a_schema_is_its_tables_with_their_columns() -> None:
    found = shown_as("document", SCHEMA)
    assert "CREATE TABLE users (id, name, balance …)" in found.summary
    assert "CREATE TABLE IF NOT EXISTS orders (id, user_id, created_at …)" in found.summary
    assert found.compressed.startswith("users, orders: ")
    assert found.index == "CREATE TABLE users …"
    fenced = shown_as("document", f"# Tables\n\n```sql\n{SCHEMA}```\n").summary
    assert "CREATE TABLE users (id, name, balance …)" in fenced


def test_a_script_without_spaces_has_levels_too() -> None:
    text = (
        "我们今天调试了登录流程。根本原因是令牌检查使用了错误的时区。" * 12
        + "统一为协调世界时修复。"
    )
    found = shown_as("turn", text)
    assert found.summary.replace("…", "").strip().split(" ")[0] in text
    assert len(found.index) > 10


def test_what_is_denied_stays_denied() -> None:
    text = "The migration was not applied, so the deploy did never finish and nothing was written."
    compressed = shown_as("turn", text).compressed
    assert "not applied" in compressed
    assert "never finish" in compressed


# ---- what stands among sentences -----------------------------------------------------------------

REPORT = """\
Traceback (most recent call last):
  File "/app/src/billing/invoice.py", line 88, in total
    return sum(line.amount for line in self.lines)
  File "/app/src/billing/line.py", line 17, in amount
    return Decimal(self.price) * self.quantity
decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/src/render.py", line 44, in render
    raise RenderError(f"invoice {invoice.id} has no total") from exc
billing.errors.RenderError: invoice 4711 has no total
"""


def test_what_went_wrong_in_a_turn_keeps_its_error() -> None:
    text = f'I get this when rendering:\n\n```\n{REPORT}```\n\nCan you fix it? A price is "12,50" there.'
    short = shown_as("turn", text).summary
    assert "\nbilling.errors.RenderError: invoice 4711 has no total\n```" in short
    assert short.count("```") == 2


@pytest.mark.parametrize("kind", ["turn", "document"])
def test_a_table_keeps_its_head(kind: str) -> None:
    rows = "".join(f"| svc{n} | {n * 3} EUR | team{n % 4} |\n" for n in range(60))
    text = (
        f"Our services:\n\n| name | cost | owner |\n|---|---|---|\n{rows}\nThe total is 5310 EUR."
    )
    lines = shown_as(kind, text).summary.splitlines()
    head = next(
        place for place, line in enumerate(lines) if line.startswith("| name | cost | owner |")
    )
    assert any(line.startswith("| svc") for line in lines[head:])
    assert not any(line.startswith("| svc") for line in lines[:head])


@pytest.mark.parametrize("kind", ["turn", "code", "tool_output", "document"])
@pytest.mark.parametrize("text", ["x" * 5_000, "🏳️‍🌈" * 300, "eyJhbGciOi" * 300])
def test_one_very_long_word_is_shown_by_its_beginning(kind: str, text: str) -> None:
    found = shown_as(kind, text)
    for level, least in ((found.summary, 100), (found.compressed, 100), (found.index, 40)):
        assert level.endswith("…")
        assert len(level) >= least
        assert text.startswith(level.rstrip("… "))


def test_a_memory_shows_its_code_as_code() -> None:
    text = (
        "We fixed the importer of the shop. The fix was found by Ana:\n\n```python\nimport csv\n"
        'def load(path):\n    with open(path, encoding="utf-8-sig") as f:\n'
        '        return list(csv.DictReader(f, delimiter=";"))\n```\n\n'
        "Afterwards all 12,044 rows were imported and the nightly job went green again. Ana reviewed it "
        "on Friday, and Ben deployed it to staging with make deploy ENV=staging."
    )
    for kind in ("episode", "fact", "pattern"):
        for line in levels(kind, text).summary.split("`")[::2]:
            assert not re.search("def|with open|return|import csv", line)
    found = levels("fact", "Always call:\n```python\nimport db\n\ndb.connect(timeout=30)\n```")
    assert found.summary == "Always call: `db.connect(timeout=30) …`"
    assert levels("fact", "```\nmake deploy\n```").summary == "`make deploy`"
    many = levels("episode", "```\nx = 1\ny = 2\n```\n" * 5_000)
    assert many.summary == "`x = 1 …` `x = 1 …`"


def test_the_whole_of_a_workflow_has_its_steps() -> None:
    steps = ["fuel the tank", "count down", "light it"]
    told = whole("How to release a rocket", "release", steps)
    assert told == "How to release a rocket\nrelease: fuel the tank→count down→light it"
    found = levels("workflow", "How to release a rocket", trigger="release", steps=steps)
    assert found.full == told
    assert whole(told, "release", steps) == told
    assert whole("", "release", steps) == "release: fuel the tank→count down→light it"
    assert whole("As it is", "release", []) == "As it is"


def test_a_workflow_without_a_name_is_called_by_its_steps() -> None:
    steps = [
        "git pull",
        "make test",
        "make deploy ENV=staging",
        "curl https://shop.example.com/health",
    ]
    assert levels("workflow", "", steps=steps).index == "git pull→make test, deploy ENV=staging …"

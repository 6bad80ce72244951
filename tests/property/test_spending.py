"""What the calls of a language model took, folded from any events."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.complete import Spending, Spent
from holdfast.model.events import Entry
from holdfast.views.spending import KEY, MOST_DAYS, SpendingView
from tests.contract.entries import entry
from tests.property.effort import examples
from tests.property.histories import folded, recorded, values

numbers = st.integers(0, 10_000) | st.sampled_from([-1, 1 << 40, 1 << 41, True, 1.5, "9", None])
said = st.fixed_dictionaries(
    {},
    optional={
        "tokens_in": numbers | values,
        "tokens_out": numbers,
        "millionths": numbers,
        "error": st.sampled_from(["unavailable", "denied", "misfit", None, 5, ["denied"]]) | values,
        "text": st.text(max_size=5),
    },
)
moments = st.builds(
    "2026-{:02d}-{:02d}T{:02d}:{:02d}:00.000Z".format,
    *(st.integers(low, high) for low, high in ((1, 12), (1, 28), (0, 1), (0, 3))),
)


def told(payload: Any, at: str, **more: Any) -> Entry:
    return entry(type="completion_received@1", payload=payload, timestamp=at, **more)


def row(entries: list[Entry]) -> Spending:
    rows = [data for view, _, data in folded(recorded(entries)) if view == "spending"]
    return msgspec.json.decode(rows[0], type=Spending) if rows else Spending()


def _counts(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= 1 << 40 else 0


@settings(max_examples=examples(80))
@given(st.lists(st.tuples(said | values, moments), max_size=25))
def test_a_day_is_the_sum_of_its_calls(calls: list[tuple[Any, str]]) -> None:
    found = row([told(payload, at) for payload, at in calls])
    assert [spent.day for spent in found.days] == sorted({at[:10] for _, at in calls})
    for spent in found.days:
        own = [payload for payload, at in calls if at[:10] == spent.day]
        plain = [payload if isinstance(payload, dict) else {} for payload in own]
        assert (spent.calls, spent.failed) == (len(own), sum("error" in one for one in plain))
        for name in ("tokens_in", "tokens_out", "millionths"):
            assert getattr(spent, name) == sum(_counts(one.get(name)) for one in plain)
    minutes = [at[:16] for _, at in calls][::-1]
    together = list(takewhile(lambda minute: minute == minutes[0], minutes))
    assert (found.minute, found.in_minute) == ("".join(minutes[:1]), len(together))


def test_the_latest_days_are_kept_and_no_more() -> None:
    days = [f"{2000 + n // 28}-01-{n % 28 + 1:02d}" for n in range(200)]
    found = row([told({"tokens_in": 1}, f"{day}T00:00:00.000Z") for day in (*days, days[0])])
    assert [spent.day for spent in found.days] == days[-MOST_DAYS:]


def test_numbers_do_not_grow_beyond_what_a_row_can_hold() -> None:
    (event,) = recorded([told({"tokens_in": 1 << 40}, "2026-01-31T09:00:00.000Z")])
    full = Spending(days=(Spent(day="2026-01-31", tokens_in=(1 << 60) - 5),))
    after = SpendingView().apply({KEY: full}, event)[KEY]
    assert after.days[0].tokens_in == 1 << 60


def test_a_failure_at_the_endpoint_counts_until_it_answers() -> None:
    at = [f"2026-01-31T09:00:0{n}.000Z" for n in range(4)]
    down, odd = {"error": "unavailable"}, {"error": "misfit"}
    assert row([told({}, at[0])]).failing_since == ""
    assert row([told(down, at[0])]).failing_since == at[0]
    assert row([told(down, at[0]), told(odd, at[1])]).failing_since == at[0]
    assert row([told(down, at[0]), told({"error": "denied"}, at[1])]).failing_since == at[1]
    assert row([told(down, at[0]), told({"text": "x"}, at[1])]).failing_since == ""


def test_what_another_log_spent_was_not_spent_here() -> None:
    assert row([told({"tokens_in": 9}, "2026-01-31T09:00:00.000Z", origin="import")]).days == ()

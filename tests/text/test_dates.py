"""Dates: what a question names, and that what was said on the day or soon after is nearest to it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.dates import MOST_DAYS, Day, asked, nearness
from tests.text.strange import HOSTILE, texts

_days = st.dates(date(1000, 1, 1), date(9998, 12, 31))
_near_days = st.dates(date(1950, 1, 1), date(2099, 12, 31))
_named = st.builds(
    Day, st.none() | st.integers(1, 9999), st.integers(1, 12), st.none() | st.integers(1, 31)
) | st.builds(Day, st.integers(1, 9999))
_moments = st.datetimes() | st.datetimes(timezones=st.just(UTC))
_NAMES = "January February March April May June July August September October November December"
_MONTHS = _NAMES.split()


def _written(day: date) -> list[str]:
    month = _MONTHS[day.month - 1]
    return [
        f"{day.day} {month} {day.year}",
        f"{day.day} {month[:3]}. {day.year}",
        f"{day.day}th of {month}, {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{month.upper()} {day.day}st {day.year}",
        f"{day.year}-{day.month:02}-{day.day:02}",
        f"{day.year}/{day.month}/{day.day}",
        f"{day.day}.{day.month}.{day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ]


@given(_near_days, st.sampled_from(["{}", "What was on {}?", "({}) why", "on {}T10:00"]))
def test_a_day_is_read_however_it_is_written(day: date, around: str) -> None:
    for written in _written(day):
        if around.endswith("T10:00") and "-" not in written:
            continue
        assert asked(around.format(written)) == (Day(day.year, day.month, day.day),)


@given(_near_days)
def test_a_month_and_a_year_are_read(day: date) -> None:
    month = _MONTHS[day.month - 1]
    for written in (f"{month} {day.year}", f"{month}, {day.year}", f"{month} of {day.year}"):
        assert asked(f"Who came in {written}?") == (Day(day.year, day.month),)
    assert asked(f"Who came in {month}?") == (Day(None, day.month),)
    assert asked(f"Who came in {day.year}?") == (Day(day.year),)


@given(texts)
def test_any_question_names_days_of_the_calendar(text: str) -> None:
    days = asked(text)
    assert len(days) == len(set(days)) <= MOST_DAYS
    for day in days:
        date(day.year or 2024, day.month or 1, day.day or 1)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("13/5/2023", [Day(2023, 5, 13)]),
        ("5/13/2023", [Day(2023, 5, 13)]),
        ("5/5/2023", [Day(2023, 5, 5)]),
        ("5/3/2023", []),
        ("31 February 2023", []),
        ("29 Feb 2023", []),
        ("29 February", [Day(None, 2, 29)]),
        ("2023-13-01", []),
        ("May I ask what may come?", []),
        ("Will they march on, and may we?", []),
        ("This may be it, section 3 may be wrong", []),
        ("In March or in May?", [Day(None, 3), Day(None, 5)]),
        ("between March and May", [Day(None, 3), Day(None, 5)]),
        ("Did April come?", [Day(None, 4)]),
        ("from 10 May to 5 June 2023", [Day(None, 5, 10), Day(2023, 6, 5)]),
        ("mid-May", [Day(None, 5)]),
        ("2022-2023", [Day(2022), Day(2023)]),
        ("$2000, #2001, port:2002, 12022", []),
        ("am 3. März 2022", [Day(2022, 3, 3)]),
        ("le 1er août 2021", [Day(2021, 8, 1)]),
        ("el 3 de mayo de 2023", [Day(2023, 5, 3)]),
        ("2023년 5월 3일", [Day(2023, 5, 3)]),
        ("5月", [Day(None, 5)]),
        ("2023-05", [Day(2023, 5)]),
        ("what did she say?", []),
    ],
)
def test_questions(question: str, days: list[Day]) -> None:
    assert asked(question) == tuple(days)


@given(st.lists(_named, max_size=5), _moments)
def test_nearness_is_the_best_over_the_days(days: list[Day], at: datetime) -> None:
    found = nearness(days, at)
    assert 0 <= found <= 1
    assert found == max([nearness([day], at) for day in days], default=0)


@given(_days, st.integers(-60, 60))
def test_a_day_is_nearest_to_what_was_said_soon_after(day: date, passed: int) -> None:
    at = datetime(day.year, day.month, day.day, 12) + timedelta(days=passed)
    want = exp(-abs(passed - 2) / 7) if passed >= -3 else exp(-abs(passed) / 10)
    assert nearness([Day(day.year, day.month, day.day)], at) == want


@given(_days)
def test_a_month_counts_in_full_and_half_in_the_next(day: date) -> None:
    at = datetime(day.year, day.month, day.day)
    after = datetime(day.year + day.month // 12, day.month % 12 + 1, 1)
    for named in (Day(day.year, day.month), Day(None, day.month)):
        assert nearness([named], at) == 1
        assert nearness([named], after) == 0.5
    assert nearness([Day(day.year + 1, day.month)], at) == 0
    assert nearness([Day(None, day.month)], at.replace(year=day.year + 1, day=1)) == 1
    assert nearness([Day(day.year)], at) == 1
    assert nearness([Day(day.year + 1)], at) == 0


def test_a_day_without_a_year_is_of_the_year_it_was_said_in() -> None:
    assert nearness([Day(None, 5, 3)], datetime(2021, 5, 5)) == 1
    assert nearness([Day(None, 2, 29)], datetime(2023, 2, 28)) == 0
    assert nearness([Day(None, 2, 29)], datetime(2024, 3, 2)) == 1
    assert nearness([], datetime(2024, 3, 2)) == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_million_characters_of_anything(name: str) -> None:
    assert len(asked(HOSTILE[name])) <= MOST_DAYS

"""Dates that a question names, and how near to them something was said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from math import exp

import msgspec

from holdfast.text.folding import fold

#: a question names at most so many days; what comes after them is left aside
MOST_DAYS = 16

_MONTHS = """
january januar janvier enero gennaio janeiro janner jan
february februar fevrier febrero febbraio fevereiro feb
march marz maerz mars marzo marco mar
april avril abril aprile apr
may mai mayo maggio maio
june juni juin junio giugno junho jun
july juli juillet julio luglio julho jul
august aout agosto aug
september septembre septiembre setiembre settembre setembro sept sep
october oktober octobre octubre ottobre outubro oct okt
november novembre noviembre novembro nov
december dezember decembre diciembre dicembre dezembro dec dez
"""
_NUMBER = {
    name: number
    for number, names in enumerate(_MONTHS.strip().splitlines(), start=1)
    for name in names.split()
}
# Names that mean something else too: months only beside a number or behind a word that says so.
_SHY_NAMES = "may march mars marco jan feb mar apr jun jul aug sept sep oct okt nov dec dez"
_SHY = frozenset(_SHY_NAMES.split())
_LEADING = """
in im en since during by last next early late mid mid- of until till before after around from between
for through every each seit ab bis nach vor ende anfang mitte letzten depuis debut fin de desde hasta
"""
_BEFORE_A_MONTH = frozenset(_LEADING.split())
_BETWEEN_MONTHS = frozenset(
    ("and", "to", "or", "through", "until", "-", "und", "bis", "et", "y", "a")
)

_MONTH = "|".join(sorted(_NUMBER, key=len, reverse=True))
_VERBS = (
    "be|have|not|also|need|cause|still|only|well|require|include|contain|lead|become|get|use|take"
)
_DATE = re.compile(
    rf"""(?<![a-z0-9_.:/$#])(?:
    (?P<iso>(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}})(?![0-9]))
    |(?P<iso_month>(\d{{4}})[-/](\d{{1,2}})(?![0-9/-]))
    |(?P<numeric>(\d{{1,2}})(?P<between>[-/.])(\d{{1,2}})(?P=between)(\d{{4}})\b)
    |(?P<day_first>(\d{{1,2}})(?:st|nd|rd|th|er|o|\.)?[ -](?:of[ ]|de[ ]|del[ ])?({_MONTH})\b
        (?!(?<=may)[ ](?:{_VERBS})\b)
        (?:\.?,?[ -](?:of[ ]|de[ ]|del[ ])?(\d{{4}})\b)?)
    |(?P<month_first>({_MONTH})\b\.?[ -](?:the[ ])?(\d{{1,2}})(?:st|nd|rd|th)?(?![\w:])
        (?:(?:,[ ]?|[ ])(?:of[ ])?(\d{{4}})\b)?)
    |(?P<month_year>({_MONTH})\b[.,]?[ -](?:of[ ]|de[ ]|del[ ])?(\d{{4}})\b)
    |(?P<month>({_MONTH})\b)
    |(?P<han>(\d{{4}})[ ]?[年년](?:[ ]?(\d{{1,2}})[ ]?[月월](?:[ ]?(\d{{1,2}})[ ]?[日号號일])?)?)
    |(?P<han_month>(\d{{1,2}})[ ]?[月월](?:[ ]?(\d{{1,2}})[ ]?[日号號일])?)
    |(?P<year>((?:19|20)\d\d)(?!\w|[.,:/]\d))
    )""",
    re.ASCII | re.VERBOSE,
)


class Day(msgspec.Struct, frozen=True):
    """A day, a month or a year; what was not named is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


def asked(question: str) -> tuple[Day, ...]:
    """The dates a question names: each once, in order, all of them in the calendar."""
    text = " ".join(fold(question).lower().split())
    days: dict[Day, None] = {}
    month_end = -1
    for found in _DATE.finditer(text):
        day = _day(found, text, month_end)
        if day is None or not _exists(day):
            continue
        if day.month:
            month_end = found.end()
        days[day] = None
        if len(days) == MOST_DAYS:
            break
    return tuple(days)


def nearness(days: Sequence[Day], at: datetime) -> float:
    """How near a moment is to the nearest of the days, 0 to 1; without days it is near to none.

    Things are told on the day or soon after it, so the days after count for more than those before.
    """
    moment = at.date()
    return max((_near(day, moment) for day in days), default=0.0)


def _near(day: Day, at: date) -> float:
    if day.month is None:
        return float(day.year == at.year)
    if day.day is None:
        after = (at.year - (day.year or at.year)) * 12 + at.month - day.month
        if day.year is None:
            after %= 12
        return {0: 1.0, 1: 0.5}.get(after, 0.0)
    try:
        named = date(day.year or at.year, day.month, day.day)
    except ValueError:
        return 0.0
    passed = (at - named).days
    return exp(-abs(passed - 2) / 7) if passed >= -3 else exp(-abs(passed) / 10)


def _exists(day: Day) -> bool:
    """Whether the calendar has it; the 29th of February counts when no year says otherwise."""
    try:
        date(day.year or 2024, day.month or 1, day.day or 1)
    except ValueError:
        return False
    return True


def _day(found: re.Match[str], text: str, month_end: int) -> Day | None:
    kind = found.lastgroup or ""
    parts = found.groups()[found.lastindex or 0 :]
    if kind in ("iso", "han"):
        return Day(*_numbers(parts[:3]))
    if kind == "iso_month":
        return Day(*_numbers(parts[:2]))
    if kind == "numeric":
        return _numeric(parts)
    if kind == "day_first":
        return Day(_number(parts[2]), _NUMBER[parts[1] or ""], _number(parts[0]))
    if kind == "month_first":
        return Day(_number(parts[2]), _NUMBER[parts[0] or ""], _number(parts[1]))
    if kind == "month_year":
        return Day(_number(parts[1]), _NUMBER[parts[0] or ""])
    if kind == "han_month":
        return Day(None, *_numbers(parts[:2]))
    if kind == "year":
        return Day(_number(parts[0]))
    name = parts[0] or ""
    return Day(None, _NUMBER[name]) if name not in _SHY or _led(found, text, month_end) else None


def _numeric(parts: Sequence[str | None]) -> Day | None:
    """Day and month in figures: dots say day first; else only what can be read in one way counts."""
    first, between, second, year = parts[:4]
    one, two = _number(first) or 0, _number(second) or 0
    if between == "." or one > 12 or one == two:
        return Day(_number(year), two, one)
    return Day(_number(year), one, two) if two > 12 else None


def _led(found: re.Match[str], text: str, month_end: int) -> bool:
    """Whether the words before a name that means something else too say that it is a month."""
    before = text[max(0, found.start() - 12) : found.start()].split()
    if not before:
        return False
    if before[-1] in _BEFORE_A_MONTH:
        return True
    return before[-1] in _BETWEEN_MONTHS and 0 <= found.start() - month_end <= 10


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _numbers(parts: Sequence[str | None]) -> list[int | None]:
    return [_number(part) for part in parts]

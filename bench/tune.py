"""What tuning proposes, and whether it holds. `python -m bench.tune DATA [--window N …] [--json]`

DATA is a folder with `swe-agent/` and `tau-bench/`. Sessions of each are recorded, tau-bench's in rows
of five as one agent goes through them, SWE-agent's alone and in pairs; then `holdfast tune` looks at
all of them in windows of several sizes, under the default settings. Rows are carrying everything and
the defaults on all sessions, then the defaults and the proposal on the half that chose and on the
other. Price: tokens of all prompts and of what would be fetched back, a cached one a tenth, a new one
five quarters. Saved: of the price of carrying everything. Missed: of the names that were needed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import holdfast
from bench.compact import AGENT, USER, heard, opened
from bench.economy_data import Script, alone
from bench.report import show
from holdfast.model.tuning import Figures, Tuned

WINDOWS = (8_000, 16_000, 32_000)
#: sessions of one agent in a row, by data set
_ROW = {"swe-agent": (1, 2), "tau-bench": (5,)}
_MOST = 100

Row = dict[str, Any]


def scripts(data: Path) -> Iterator[Script]:
    """Everything one agent goes through in one session."""
    swe, tau = alone(data, "swe-agent"), alone(data, "tau-bench")
    for found, rows in ((swe, _ROW["swe-agent"]), (tau, _ROW["tau-bench"])):
        for many in rows:
            for n in range(0, len(found), many):
                yield in_a_row(found[n : n + many])


def in_a_row(found: Sequence[Script]) -> Script:
    """Scripts one behind the other."""
    sittings = tuple(sitting for one in found for sitting in one.sittings)
    return Script(name=found[0].name, system=found[0].system, sittings=sittings)


def recorded(hf: holdfast.Holdfast, found: Sequence[Script]) -> None:
    """Each script as one session."""
    for number, one in enumerate(found):
        with hf.session(agent=AGENT, user=USER, session_id=f"session-{number:03d}") as s:
            heard(s, one)


def rows(tuned: Tuned) -> list[Row]:
    """Carrying everything, the defaults and the proposal, on all sessions and on both halves."""
    of, seen = tuned.proposal, tuned.rows[0].seen
    found = [("everything", "all", tuned.everything), ("defaults", "all", tuned.now)]
    if of is not None:
        best = next(row.seen for row in tuned.rows if row.knobs == of.knobs)
        found += [("defaults", "chose", seen), ("proposed", "chose", best)]
        found += [("defaults", "other", of.before), ("proposed", "other", of.after)]
    return [_row(tuned.window, what, half, figures) for what, half, figures in found if figures]


def _row(window: int, what: str, half: str, of: Figures) -> Row:
    return {
        "window": window,
        "what": what,
        "half": half,
        "sessions": of.sessions,
        "price": f"{of.price:,.0f}",
        "saved %": round(100 * of.savings, 1),
        "missed %": round(100 * of.regret, 1),
        "fetched": of.fetched,
        "compactions": of.compactions,
    }


def main() -> None:
    """A table, and what is proposed in each window."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--window", type=int, nargs="+", default=list(WINDOWS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    table, said = [], []
    with opened() as hf:
        recorded(hf, list(scripts(given.data)))
        for window in given.window:
            tuned = hf.tune(window=window, user=USER, most=_MOST, quick=given.quick)
            table += rows(tuned) if tuned.rows else []
            said.append({"window": window, **proposed(tuned)})
    show("tuning compaction on recorded work", table, as_json=given.json)
    show("what is proposed", said, as_json=given.json)


def proposed(tuned: Tuned) -> Row:
    """The knobs, and how they did where they were not chosen."""
    of = tuned.proposal
    if of is None:
        return {"knobs": "nothing better than the defaults", "on the others": "", "wins": False}
    knobs = ", ".join(f"{name}={value}" for name, value in of.knobs.items())
    return {"knobs": knobs, "on the others": of.unseen.why, "wins": of.wins}


if __name__ == "__main__":
    main()

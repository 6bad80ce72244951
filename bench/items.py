"""Do tiers keep what is needed again, and at what cost? Evidence for weights, decay and thresholds.

    python -m bench.items DATA [--cost] [--json]

DATA is a folder with `swe-agent/` and `tau-bench/`. Each trajectory is gone through turn by turn
(`bench.items_data` says what becomes an item and what "needed" means). Trajectories last minutes, so
time is counted in turns: one turn stands for one day, and τ is so many turns. Before each turn every
item older than two turns has a tier; then what the turn names is counted as accessed. Printed for each
way of weighing: of the items that were needed, the share that was hot, and hot or warm; of the tokens of
all items, the share that is hot, and hot or warm; and how likely a needed item is ranked above one that
is not (0.5 is chance), which no threshold decides. `--cost` times the verbs with 1,000 items, and saving
a full window with them. No model, no network.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.economy_data import Dataset
from bench.items_data import GAP, Saved, Work, works
from bench.report import show
from holdfast.compact.importance import importance, tier_of
from holdfast.model.compact import ItemSettings, type_weight

DATASETS: tuple[Dataset, ...] = ("swe-agent", "tau-bench")
TAUS = (1, 3, 7, 14, 30)
KINDS = ("TASK", "CODE", "ERROR", "TEST_RESULT", "OUTPUT")
#: one weight at a time
WEIGHTS = (
    *(("TASK", 0.8), ("CODE", 0.9), ("CODE", 0.5), ("ERROR", 0.8)),
    *(("TEST_RESULT", 0.7), ("TEST_RESULT", 0.3), ("OUTPUT", 0.7), ("OUTPUT", 0.3)),
)
THRESHOLDS = ((0.9, 0.4), (0.7, 0.4), (0.6, 0.3), (0.8, 0.2))
#: about so many characters are a token: shares are asked for, not counts
_CHARS = 4

#: what an item is worth: its type, turns since it was saved or accessed, how often it was accessed
Weigh = Callable[[Saved, int, int], float]


class Way(msgspec.Struct, frozen=True):
    """One way of weighing items, and what the thresholds are."""

    name: str
    weigh: Weigh
    settings: ItemSettings = ItemSettings()


def formula(settings: ItemSettings, *, accesses: bool = True) -> Weigh:
    """The formula with these settings."""
    return lambda one, age, times: importance(
        type_weight(one.type, settings), age, times if accesses else 0, settings
    )


def ways() -> list[Way]:
    """What is compared: the settings there are, others, and simpler ways."""
    now = ItemSettings()
    made = [Way(f"as set: τ {now.decay_days:g}, hot {now.hot}, warm {now.warm}", formula(now))]
    others = [(f"τ {tau}", ItemSettings(decay_days=tau)) for tau in TAUS if tau != now.decay_days]
    others += [(f"{kind} {to}", ItemSettings(weights={kind: to})) for kind, to in WEIGHTS]
    made += [Way(name, formula(settings)) for name, settings in others]
    made += [
        Way(f"hot {hot}, warm {warm}", formula(now), ItemSettings(hot=hot, warm=warm))
        for hot, warm in THRESHOLDS
    ]
    flat = ItemSettings(weights=dict.fromkeys(KINDS, 1.0))
    made += [
        Way("accesses do not count", formula(now, accesses=False)),
        Way("recency alone", formula(flat, accesses=False)),
        Way("type alone", lambda one, _, __: type_weight(one.type, now)),
        Way("everything hot", lambda *_: 1.0),
    ]
    return made


class Tally(msgspec.Struct):
    """What one way of weighing came to."""

    needed: int = 0
    hot: int = 0
    warm: int = 0
    tokens: float = 0.0
    both: float = 0.0
    turns: int = 0
    ranked: float = 0.0
    pairs: int = 0

    def row(self, name: str) -> dict[str, Any]:
        """As it is printed."""
        return {
            "what": name,
            "needed": self.needed,
            "hot": self.hot / max(self.needed, 1),
            "hot or warm": (self.hot + self.warm) / max(self.needed, 1),
            "tokens hot": self.tokens / max(self.turns, 1),
            "tokens both": self.both / max(self.turns, 1),
            "ranked right": self.ranked / max(self.pairs, 1),
        }


def judged(found: Sequence[Work], way: Way) -> Tally:
    """Go through all of it with one way of weighing."""
    tally = Tally()
    for work in found:
        touched = {n: one.turn for n, one in enumerate(work.items)}
        times = dict.fromkeys(touched, 0)
        for turn in range(1, work.turns + 1):
            old = [n for n, one in enumerate(work.items) if turn - one.turn > GAP]
            scores = {n: way.weigh(work.items[n], turn - touched[n], times[n]) for n in old}
            needed = work.needs.get(turn, frozenset())
            _count(tally, work, scores, needed, way.settings)
            for n in needed:
                touched[n], times[n] = turn, times[n] + 1
    return tally


def _count(
    tally: Tally,
    work: Work,
    scores: dict[int, float],
    needed: frozenset[int],
    settings: ItemSettings,
) -> None:
    tiers = {n: tier_of(score, settings) for n, score in scores.items()}
    tally.needed += len(needed)
    tally.hot += sum(tiers[n] == "HOT" for n in needed)
    tally.warm += sum(tiers[n] == "WARM" for n in needed)
    sizes = {n: len(work.items[n].text) / _CHARS for n in scores}
    if sizes:
        tally.turns += 1
        total = sum(sizes.values())
        tally.tokens += sum(sizes[n] for n in sizes if tiers[n] == "HOT") / total
        tally.both += sum(sizes[n] for n in sizes if tiers[n] != "COLD") / total
    for n in needed:
        for other in scores.keys() - needed:
            tally.pairs += 1
            tally.ranked += (scores[n] > scores[other]) + (scores[n] == scores[other]) / 2


def by_type(found: Sequence[Work]) -> list[dict[str, Any]]:
    """How often an item of each type is needed in a turn, and how long after it was touched last."""
    kinds = sorted({one.type for work in found for one in work.items})
    rows = []
    for kind in kinds:
        items = chances = hits = 0
        gaps: list[int] = []
        for work in found:
            for n, one in enumerate(work.items):
                if one.type != kind:
                    continue
                items, last = items + 1, one.turn
                chances += max(0, work.turns - one.turn - GAP)
                for turn, needed in sorted(work.needs.items()):
                    if n in needed:
                        gaps.append(turn - last)
                        hits, last = hits + 1, turn
        gaps.sort()
        rows.append(
            {
                "what": kind,
                "items": items,
                "needed per turn": hits / max(chances, 1),
                "median gap": gaps[len(gaps) // 2] if gaps else 0,
                "9 of 10 within": gaps[len(gaps) * 9 // 10] if gaps else 0,
            }
        )
    return rows


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--cost", action="store_true", help="time the verbs with 1,000 items")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for dataset in DATASETS:
        found = works(given.data, dataset)
        if not found:
            continue
        show(f"{dataset}: {len(found)} trajectories", by_type(found), as_json=given.json)
        rows = [judged(found, way).row(way.name) for way in ways()]
        show(f"{dataset}: one turn stands for one day", rows, as_json=given.json)
    if given.cost:
        from bench.items_cost import cost, saving

        show("1,000 items: milliseconds", cost(), as_json=given.json)
        show("saving a full window with them: milliseconds", saving(), as_json=given.json)


if __name__ == "__main__":
    main()

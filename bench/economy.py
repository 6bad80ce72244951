"""What does a prompt cost, and does it hold what the next step needs? Five ways of making it.

    python -m bench.economy DATA [--dataset swe-agent|tau-bench|beam|all] [--window N] [--budget N]
        [--most N] [--cacheable N] [--embedder static|none|auto|minilm] [--json]

DATA is a folder with `swe-agent/`, `tau-bench/` and `beam/`. Real work is gone through message by
message; before each step of the model a prompt is made in five ways (`bench/economy_ways.py`). Sessions
stand alone or in a row: trajectories of one repository one after the other, conversations of BEAM with
all of their sessions. For Holdfast and for memory each of them is a session of the same agent; for the
other ways they are one long conversation. The window is 16,000 tokens alone and 32,000 in a row, the
budget of Holdfast's memory an eighth of it.

Cost stands in for the bill of a provider with prompt caching. What a prompt shares with the one before,
from its first byte on, was cached: price 0.1; the rest is written to the cache: price 1.25. A shared
beginning of fewer than 1,024 tokens is not cached. Output costs the same for all and is not counted;
neither is a model's work on summaries, nor an expansion. Tokens are counted with `hf.counter()`.

Evidence stands in for a good next step (`bench/economy_evidence.py`): of the paths, errors, commands
and ids that the step uses and that were said before, the share that stands in its prompt; of BEAM's
questions, the share of gold turns that stand there whole. With expansion: the same, or in what one
expansion, within 2,000 tokens, of something shown in the prompt brings; the model is taken to choose it
well. Evidence is near (in the last ten messages), far (earlier in the session) or elsewhere (in another
session).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bench.economy_data import Dataset, Message, Script, alone, chained
from bench.economy_evidence import ELSEWHERE, FAR, NEAR, Kept, Need, Share, kept, needed
from bench.economy_ways import Ours, Prompt, Way, five, opened, question
from bench.report import show
from holdfast.errors import HoldfastError

CACHED, NEW = 0.1, 1.25
CACHEABLE = 1_024
ALONE_WINDOW, CHAINED_WINDOW = 16_000, 32_000
#: of the window, for Holdfast's memory
BUDGET = 8
FULL, OURS = "full history", "Holdfast"
#: what is promised: cost beside full history, evidence, and how far the cached share may be below
CHAINED_COST, ALONE_COST, EVIDENCE, STABLE = 0.7, 1.05, 95.0, 5.0
Count = Callable[[str], int]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How it is measured."""

    window: int
    budget: int
    cacheable: int = CACHEABLE
    embedder: str = "static"


class Figures(msgspec.Struct, kw_only=True):
    """What one way came to."""

    calls: int = 0
    sent: int = 0
    cached: int = 0
    largest: int = 0
    kept: Kept = {}
    #: of Holdfast: epochs that had to begin anew, handles that could not be opened
    epochs: int = 0
    dead: int = 0

    @property
    def cost(self) -> float:
        """In tokens of plain input."""
        return CACHED * self.cached + NEW * (self.sent - self.cached)

    def add(self, other: Figures) -> None:
        """Both together."""
        for name in ("calls", "sent", "cached", "epochs", "dead"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)
        for where, share in other.kept.items():
            self.kept[where] = self.kept.get(where, Share()) + share


# ---- what a prompt costs -------------------------------------------------------------------------


def shared(before: Prompt, now: Prompt, count: Count) -> int:
    """Tokens of the beginning that two prompts share."""
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old == new:
            tokens += count(new)
            continue
        return tokens + count(new[: _alike(old, new)])
    return tokens


def _alike(old: str, new: str) -> int:
    """Characters that two texts share from the beginning."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Meter:
    """Counts what one way sends."""

    def __init__(self, count: Count, cacheable: int) -> None:
        self._count = count
        self._cacheable = cacheable
        self._before: Prompt = ()
        self.figures = Figures()

    def send(self, prompt: Prompt, held: Kept) -> None:
        """One prompt, and what it holds of what is needed."""
        sent = sum(map(self._count, prompt))
        cached = min(sent, shared(self._before, prompt, self._count))
        self._before = prompt
        self.figures.add(
            Figures(
                calls=1,
                sent=sent,
                cached=cached if cached >= self._cacheable else 0,
                largest=sent,
                kept=held,
            )
        )


# ---- going through it ----------------------------------------------------------------------------


def played(script: Script, settings: Settings) -> dict[str, Figures]:
    """One script in every way."""
    with opened(settings.embedder) as (hf, clock):
        count = lru_cache(maxsize=None)(hf.counter().count)
        ours = Ours(script, hf, clock, settings.budget, settings.window)
        ways = five(script, count, settings.window, ours)
        meters = {way.name: Meter(count, settings.cacheable) for way in ways}
        _play(script, ways, meters)
        ours.end()
        found = {name: meter.figures for name, meter in meters.items()}
        found[OURS].epochs, found[OURS].dead = len(ours.epochs), len(ours.dead)
        return found


def _play(script: Script, ways: Sequence[Way], meters: Mapping[str, Meter]) -> None:
    others: list[Message] = []
    here: list[Message] = []
    for sitting in script.sittings:
        if not script.one_session:
            others, here = [*others, *here], []
        for way in ways:
            way.begin(sitting)
        for message in sitting.messages:
            if message.role == "assistant":
                need = Need(gold=sitting.gold)
                if not script.asks:
                    need = needed(message, here, others, script.system)
                for way in ways:
                    prompt = way.prompt(question(here))
                    meters[way.name].send(prompt, kept(need, prompt, way.expand))
            for way in ways:
                way.hear(message)
            here.append(message)


# ---- all of it -----------------------------------------------------------------------------------


class Set(msgspec.Struct, frozen=True, kw_only=True):
    """Scripts that are counted together."""

    name: str
    dataset: Dataset
    in_a_row: bool
    #: in a row, and one session for Holdfast and for memory too
    one_session: bool = False

    def scripts(self, data: Path) -> list[Script]:
        """What it consists of."""
        row = self.in_a_row and self.dataset != "beam"  # BEAM's come as rows of sessions
        found = (chained if row else alone)(data, self.dataset)
        return [replace(script, one_session=self.one_session) for script in found]


SETS = (
    Set(name="swe-agent, alone", dataset="swe-agent", in_a_row=False),
    Set(name="swe-agent, one session", dataset="swe-agent", in_a_row=True, one_session=True),
    Set(name="swe-agent, sessions in a row", dataset="swe-agent", in_a_row=True),
    Set(name="tau-bench, alone", dataset="tau-bench", in_a_row=False),
    Set(name="tau-bench, one session", dataset="tau-bench", in_a_row=True, one_session=True),
    Set(name="beam, one session", dataset="beam", in_a_row=True, one_session=True),
    Set(name="beam, sessions in a row", dataset="beam", in_a_row=True),
)


def measured(one: Set, scripts: Sequence[Script], settings: Settings) -> list[dict[str, Any]]:
    """A row for each way."""
    total: dict[str, Figures] = {}
    for number, script in enumerate(scripts, 1):
        print(
            f"{one.name}: {script.name} ({number} of {len(scripts)})", file=sys.stderr, flush=True
        )
        for name, figures in played(script, settings).items():
            total.setdefault(name, Figures()).add(figures)
    return [
        {
            "set": one.name,
            "way": name,
            "in_a_row": one.in_a_row,
            "window": settings.window,
            "budget": settings.budget,
            "scripts": len(scripts),
            **_row(figures, total[FULL]),
        }
        for name, figures in total.items()
    ]


def _row(of: Figures, full: Figures) -> dict[str, Any]:
    every = sum((of.kept.get(where, Share()) for where in (NEAR, FAR, ELSEWHERE)), Share())
    return {
        "calls": of.calls,
        "sent": of.sent,
        "largest": of.largest,
        "cached_percent": _percent(of.cached, of.sent),
        "cost": round(of.cost, 1),
        "cost_beside_full": round(of.cost / full.cost, 4) if full.cost else None,
        "evidence": _evidence(every),
        **{where: _evidence(of.kept.get(where, Share())) for where in (NEAR, FAR, ELSEWHERE)},
        "epochs_anew": of.epochs,
        "dead_handles": of.dead,
    }


def _evidence(share: Share) -> dict[str, Any]:
    return {
        "needed": share.needed,
        "in_prompt_percent": _percent(share.there, share.needed),
        "with_expansion_percent": _percent(share.within_reach, share.needed),
    }


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None


def run(given: argparse.Namespace, chosen: Sequence[Set]) -> list[dict[str, Any]]:
    """Every set that is asked for."""
    rows: list[dict[str, Any]] = []
    for one in chosen:
        window = given.window or (CHAINED_WINDOW if one.in_a_row else ALONE_WINDOW)
        settings = Settings(
            window=window,
            budget=window // BUDGET if given.budget is None else given.budget,
            cacheable=given.cacheable,
            embedder=given.embedder,
        )
        scripts = one.scripts(given.data)[: given.most]
        if scripts:
            rows += measured(one, scripts, settings)
    return rows


# ---- what came of it -----------------------------------------------------------------------------


def goals(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is promised of Holdfast, and what it came to."""
    found = []
    for name in dict.fromkeys(row["set"] for row in rows):
        ways = {row["way"]: row for row in rows if row["set"] == name}
        ours, full = ways[OURS], ways[FULL]
        cost = ours["cost_beside_full"]
        if not ours["in_a_row"]:
            found.append(
                _goal(name, f"cost ≤ {ALONE_COST:g} × full history", cost, cost <= ALONE_COST)
            )
            continue
        others = min(
            row["cost_beside_full"] for way, row in ways.items() if way not in (OURS, FULL)
        )
        evidence, stable = ours["evidence"]["with_expansion_percent"], ours["cached_percent"]
        least = full["cached_percent"] - STABLE
        found += [
            _goal(name, f"cost ≤ {CHAINED_COST:g} × full history", cost, cost <= CHAINED_COST),
            _goal(name, f"cost below the others' ({others:.2f})", cost, cost < others),
            _goal(name, f"evidence ≥ {EVIDENCE:g} %", evidence, (evidence or 0) >= EVIDENCE),
            _goal(name, f"cached ≥ {least:.1f} %", stable, stable >= least),
        ]
    return found


def _goal(name: str, goal: str, figure: float | None, met: bool) -> dict[str, Any]:
    return {"set": name, "goal": goal, "figure": figure, "met": met}


def _shown(value: float | None, form: str = "{:.1f}") -> str:
    return "–" if value is None else form.format(value)


def _table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """One set; what is near stands in every prompt, and the last three are with expansion."""
    return [
        {
            "what": row["way"],
            "sent": f"{row['sent']:,}",
            "largest": f"{row['largest']:,}",
            "cached %": _shown(row["cached_percent"]),
            "cost × full": _shown(row["cost_beside_full"], "{:.2f}"),
            "evidence %": _shown(row["evidence"]["in_prompt_percent"]),
            "+ expand %": _shown(row["evidence"]["with_expansion_percent"]),
            **{
                f"{where} %": _shown(row[where]["with_expansion_percent"])
                for where in (FAR, ELSEWHERE)
            },
        }
        for row in rows
    ]


def _title(row: Mapping[str, Any]) -> str:
    number = ", ".join(f"{row[where]['needed']:,} {where}" for where in (NEAR, FAR, ELSEWHERE))
    return (
        f"{row['set']}: {row['scripts']} scripts, {row['calls']:,} calls; window {row['window']:,}, "
        f"memory {row['budget']:,}; evidence: {number}"
    )


def _tell(rows: Sequence[Mapping[str, Any]], given: argparse.Namespace) -> None:
    settings = {
        "cacheable": given.cacheable,
        "embedder": given.embedder,
        "prices": {"cached": CACHED, "new": NEW},
    }
    if given.json:
        told = {"settings": settings, "rows": rows, "goals": goals(rows)}
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return
    for name in dict.fromkeys(row["set"] for row in rows):
        some = [row for row in rows if row["set"] == name]
        show(_title(some[0]), _table(some), as_json=False)
    told_goals = [
        {
            "what": f"{one['set']}: {one['goal']}",
            "figure": _shown(one["figure"], "{:.2f}"),
            "met": "yes" if one["met"] else "no",
        }
        for one in goals(rows)
    ]
    show("Goals for Holdfast", told_goals, as_json=False)


def _number(said: str) -> int:
    number = int(said)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


def main() -> None:
    """Everything, or one data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a folder of data sets")
    names = sorted({one.dataset for one in SETS})
    parser.add_argument("--dataset", choices=(*names, "all"), default="all")
    parser.add_argument("--window", type=_number, help="tokens a prompt may have; else as usual")
    parser.add_argument("--budget", type=_number, help="tokens memory may add")
    parser.add_argument("--most", type=_number, help="sessions of each set at most")
    parser.add_argument("--cacheable", type=_number, default=CACHEABLE)
    parser.add_argument(
        "--embedder", choices=("static", "none", "auto", "minilm"), default="static"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = [one for one in SETS if given.dataset in ("all", one.dataset)]
    try:
        rows = run(given, chosen)
    except HoldfastError as exc:
        raise SystemExit(f"bench.economy: {exc}") from exc
    if not rows:
        raise SystemExit("bench.economy: there is nothing to go through")
    _tell(rows, given)


if __name__ == "__main__":
    main()

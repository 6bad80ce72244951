"""A table for people, JSON for machines, and the two ways of timing every benchmark uses."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def show(title: str, rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print rows that share their keys."""
    if as_json:
        print(json.dumps({"title": title, "rows": list(rows)}, indent=2))
        return
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if name == "what" else "right")
    for row in rows:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else f"{v}" for v in row.values()))
    Console(width=120).print(table)


def side_by_side(
    ours: Callable[[], object], baseline: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median seconds of each, taken in turns so that a busy machine slows both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for kept, run in zip(times, (ours, baseline), strict=True):
            start = time.perf_counter()
            run()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])

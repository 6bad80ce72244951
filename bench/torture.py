"""Thousands of deaths of one log. `python -m bench.torture --cycles 2000 [--seed S] [--json]`

kill -9 at random moments and at every system call, writes torn after K bytes, power cuts on a real
ext4 and in a model of one, and a corpus of damaged bytes. Everything acknowledged must be there after
each, once and whole. What goes wrong is printed with the seed or the point that brings it back.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.report import show
from tests.faults.operations import OPERATIONS
from tests.faults.start import PRIVATE_MOUNTS, ROOT, start

TROUBLES = ("lost", "duplicated", "spliced", "wrong")
#: the share of --cycles of each; kill points and torn writes are tried at every place anyway
SHARES = {"random kills": 0.35, "power cuts": 0.15, "lives of a model": 0.25, "damaged bytes": 0.25}
CUT_PROTOCOLS = ("append", "seal", "erase", "failed sync")
CHUNK = 25


@dataclass
class Tally:
    """What one protocol came to."""

    cycles: int = 0
    acked: int = 0
    seconds: float = 0.0
    troubles: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TROUBLES})
    left_out: str = ""

    def add(self, cycles: int, found: dict[str, Any]) -> None:
        """Take in one run."""
        self.cycles += cycles
        self.acked += found["acked"]
        for name in TROUBLES:
            self.troubles[name] += found[name]

    def row(self, what: str) -> dict[str, Any]:
        """For the table."""
        return {
            "what": what + (f" (left out: {self.left_out})" if self.left_out else ""),
            "cycles": self.cycles,
            "acked": self.acked,
            **{name: len(said) for name, said in self.troubles.items()},
            "time": f"{self.seconds:.0f} s",
        }


@dataclass(frozen=True)
class Plan:
    """How much, from where on, and a folder to do it in."""

    cycles: int
    seed: int
    place: str

    def chunks(self, size: int) -> Iterator[tuple[int, int]]:
        """(first seed, how many), until all cycles are planned."""
        for first in range(0, self.cycles, size):
            yield self.seed + first, min(size, self.cycles - first)


Steps = Iterator[tuple[int, dict[str, Any]]]


def random_kills(plan: Plan) -> Steps:
    """Four writers, all killed at a random moment."""
    for first, count in plan.chunks(CHUNK):
        yield count, start("crowd", what="kills", cycles=count, seed=first, where=plan.place)


def kill_points(_plan: Plan) -> Steps:
    """One process for each system call of each operation."""
    for name in OPERATIONS:
        found = start("killpoints", name=name, reads=True)
        yield sum(found["points"].values()), found


def torn_writes(plan: Plan) -> Steps:
    """Each write of each operation, after more and more bytes."""
    shim = os.path.join(plan.place, "torn.so")
    source = ROOT / "tests" / "faults" / "torn.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, str(source), "-ldl"], check=True)
    for name in ("append", "batch", "batched", "rotate", "erase", "drain", "retain"):
        found = start("torn", env={"LD_PRELOAD": shim}, shim=shim, name=name)
        yield found["torn"], found


def power_cuts(plan: Plan) -> Steps:
    """An ext4 without power, again and again."""
    for number, (first, count) in enumerate(plan.chunks(CHUNK)):
        protocol = CUT_PROTOCOLS[number % len(CUT_PROTOCOLS)]
        own = os.path.join(plan.place, f"cuts{number}")
        os.makedirs(own)
        found = start(
            "cuts",
            before=PRIVATE_MOUNTS,
            what="cuts",
            protocol=protocol,
            cycles=count,
            seed=first,
            place=own,
        )
        shutil.rmtree(own)
        yield count, found


def lives(plan: Plan) -> Steps:
    """Random histories on a machine whose plug is pulled in every legal way."""
    for first, count in plan.chunks(CHUNK * 2):
        yield count, start("histories", cycles=count, seed=first)


def damaged_bytes(plan: Plan) -> Steps:
    """Flips, truncations, NULs, splices, duplicates and swaps in a chained log."""
    for first, count in plan.chunks(CHUNK * 8):
        yield count, start("corpus", cycles=count, seed=first)


PROTOCOLS = {
    "random kills": (random_kills, ()),
    "kill points": (kill_points, ("strace",)),
    "torn writes": (torn_writes, ("gcc",)),
    "power cuts": (power_cuts, ("mkfs.ext4", "unshare", "strace", "root")),
    "lives of a model": (lives, ()),
    "damaged bytes": (damaged_bytes, ()),
}


def _missing(tools: tuple[str, ...]) -> list[str]:
    return [
        tool
        for tool in tools
        if (os.geteuid() != 0 if tool == "root" else shutil.which(tool) is None)
    ]


def torture(cycles: int, seed: int, console: Console) -> dict[str, Tally]:
    """Every protocol in turn."""
    tallies = {name: Tally() for name in PROTOCOLS}
    bar = Progress(
        TextColumn("{task.description:<18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[said]}"),
        console=console,
    )
    with bar, tempfile.TemporaryDirectory(prefix="holdfast-torture-") as place:
        for name, (run, tools) in PROTOCOLS.items():
            tally = tallies[name]
            tally.left_out = ", ".join(_missing(tools))
            if tally.left_out:
                continue
            planned = round(cycles * SHARES[name]) if name in SHARES else None
            task = bar.add_task(name, total=planned, said="")
            began = time.monotonic()
            try:
                for count, found in run(Plan(planned or 0, seed, place)):
                    tally.add(count, found)
                    bad = sum(map(len, tally.troubles.values()))
                    bar.update(task, advance=count, said=f"{tally.acked:,} acked, {bad} wrong")
            except (AssertionError, subprocess.SubprocessError) as exc:
                tally.troubles["wrong"].append(str(exc))
            tally.seconds = time.monotonic() - began
            bar.update(task, total=tally.cycles, completed=tally.cycles)
    return tallies


def main() -> int:
    """Run everything; non-zero when anything acknowledged was harmed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    seed = int(time.time()) % 1_000_000_000 if given.seed is None else given.seed
    console = Console(stderr=True)
    tallies = torture(given.cycles, seed, console)
    rows = [tally.row(name) for name, tally in tallies.items()]
    show(f"Torture, seed {seed}", rows, as_json=given.json)
    said = [f"{n}: {t}" for n, tally in tallies.items() for v in tally.troubles.values() for t in v]
    for line in said[:200]:
        console.print(line, markup=False, highlight=False)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())

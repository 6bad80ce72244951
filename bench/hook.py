"""What a hook costs its host. `python -m bench.hook [--runs 200] [--sizes 1000,10000] [--json]`

Each run is a process as a host starts it, timed from the start to its end. The hooks take turns with a
Python that does nothing and one that loads `json`, so that a busy machine slows all of them alike and
the ratios mean something. Prompts are asked in a project with so many recorded turns, while a resident
is there; `answered` is how many of them were told something.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import holdfast
from bench import hostile
from bench.hostile_cases import Call
from bench.hostile_scenes import Scene, answering
from bench.measures import SEED, percentile
from bench.report import show
from bench.zipf import questions, texts
from holdfast.capture import resident
from holdfast.model.events import Draft

AGENT = "claude-code"
_BATCH = 500
_PROMPTS_OF_A_SESSION = 20
_HUNG = 20
_KILOBYTE = "the tests of the cart passed, and the total is rounded half to even. " * 14
BARE = "python -I -S -c pass"
BASELINE = 'python -I -S -c "import json"'
CAPTURE = "claude_capture, a result of 1 kB"
ANY_HOST = "holdfast hook message-received"
GOALS = {CAPTURE: "≤ 2.5 × json"}
INJECT_GOAL = "p95 ≤ 100 ms"
HUNG_GOAL = "≤ 500 ms"

Row = dict[str, Any]


def filled(scene: Scene, size: int) -> list[str]:
    """Record and index so many turns in sessions of forty; what was said in them."""
    said = list(islice(texts(), size))
    with holdfast.open(str(scene.home), path=scene.root) as hf:
        for start in range(0, size, _BATCH):
            hf.record([_turn(at, said[at]) for at in range(start, min(start + _BATCH, size))])
        hf.index()
    return said


def _turn(number: int, text: str) -> Draft:
    mine = number % 2 == 0
    return Draft(
        type="user_message" if mine else "model_message",
        payload={"text": text},
        origin="user" if mine else "agent",
        session_id=f"past-{number // 40}",
        agent=AGENT,
    )


def awake(scene: Scene) -> tuple[float, int]:
    """Start a resident; seconds until it answers, and which process it is."""
    began = time.perf_counter()
    resident.start(sys.executable, str(scene.home), str(scene.root), str(scene.log))
    while True:
        try:
            said = resident.ask(str(scene.log), {"do": "status"}, lambda: 5.0)
        except (OSError, ValueError):
            time.sleep(0.01)
            continue
        return time.perf_counter() - began, int(str(said["pid"]))


def megabytes(pid: int) -> float:
    """What a process holds in memory."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Turns:
    """Programs that take turns, and how long each run took."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.took: dict[str, list[float]] = {}
        self.answered: dict[str, int] = {}

    def bare(self, what: str, program: str) -> None:
        """A Python without us."""
        start = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)
        self.took.setdefault(what, []).append(time.perf_counter() - start)

    def hook(self, what: str, hook: str, **said: object) -> None:
        """One of ours."""
        told = {"session_id": "now", "cwd": str(self.scene.root), **said}
        outcome = hostile.run(Call(hook=hook, stdin=json.dumps(told).encode()), self.scene)
        if outcome.status != 0:
            raise AssertionError(f"{what} ended with {outcome.status}")
        self.took.setdefault(what, []).append(outcome.seconds)
        self.answered[what] = self.answered.get(what, 0) + bool(outcome.stdout)

    def rows(self, goal: Callable[[str], str]) -> list[Row]:
        """For the table."""
        usual = percentile(self.took[BASELINE], 50)
        return [
            {
                "what": what,
                **{f"p{at} ms": percentile(took, at) * 1_000 for at in (50, 95, 99)},
                "most ms": max(took) * 1_000,
                "× json": percentile(took, 50) / usual,
                "answered": self.answered.get(what, ""),
                "goal": goal(what),
            }
            for what, took in self.took.items()
        ]


def measured(scene: Scene, size: int, runs: int) -> tuple[list[Row], Row]:
    """All of them in turns, in a project of that size; and its resident."""
    said = filled(scene, size)
    seconds, pid = awake(scene)
    prompts = questions(random.Random(SEED).choices(said, k=runs))
    turns, inject = Turns(scene), f"claude_inject, {size:,} turns"
    result = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": "t1",
        "tool_input": {"command": "make check"},
        "tool_response": {"stdout": _KILOBYTE, "stderr": "", "interrupted": False},
    }
    for number in range(runs):
        turns.bare(BARE, "pass")
        turns.bare(BASELINE, "import json")
        turns.hook(CAPTURE, "capture", **result)
        turns.hook(ANY_HOST, "message-received", text=_KILOBYTE)
        session = f"now-{number // _PROMPTS_OF_A_SESSION}"
        asked = {
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompts[number],
            "session_id": session,
        }
        turns.hook(inject, "inject", **asked)
    found = {"what": f"resident, {size:,} turns", "first answer s": seconds, "MB": megabytes(pid)}
    hostile.leave(scene)
    return turns.rows(lambda what: GOALS.get(what, INJECT_GOAL if what == inject else "")), found


def hung(scene: Scene) -> Row:
    """A prompt while the resident hangs."""
    with ExitStack() as stack:
        answering(b"", hangs=True)(scene, stack)
        turns, what = Turns(scene), "claude_inject, the resident hangs"
        for _ in range(_HUNG):
            turns.bare(BASELINE, "import json")
            turns.hook(what, "inject", hook_event_name="UserPromptSubmit", prompt="where are we?")
    return next(row for row in turns.rows(lambda _: HUNG_GOAL) if row["what"] == what)


def main() -> None:
    """One table for the hooks, one for the processes behind them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    residents = []
    with tempfile.TemporaryDirectory() as scratch:
        for size in map(int, given.sizes.split(",")):
            scene = Scene(Path(scratch) / str(size))
            scene.make()
            rows, found = measured(scene, size, given.runs)
            residents.append(found)
            show(f"hooks, {given.runs} runs of each in turns", rows, as_json=given.json)
        scene = Scene(Path(scratch) / "hung")
        scene.make()
        show("a resident that hangs", [hung(scene)], as_json=given.json)
    show("the process behind hooks", residents, as_json=given.json)


if __name__ == "__main__":
    main()

"""Hooks where everything goes wrong. `python -m bench.hostile --runs 10000 [--seed S] [--json]`

Every run is a real process as a host starts it. It must end with 0, say nothing or one object of the
known shape, and leave the log sound; afterwards no process may be left. What goes wrong is printed with
the case and the number that make the same call again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rich.progress import track

from bench.hostile_cases import CASES, Call, Case
from bench.hostile_scenes import Scene
from bench.report import show
from holdfast.app.open import must_exist
from holdfast.capture import resident
from holdfast.doors import hooks
from holdfast.doors.hooks.any_host import VERBS
from holdfast.engines.files import FileLog

SCRIPTS = Path(hooks.__file__).parent
#: nobody waits longer for a hook; far beyond every deadline it has
PATIENCE = 30.0
#: what is worked on apart has a minute
_APART = 75.0
_WORKERS = 3
_DECISIONS = {
    "permissionDecision",
    "decision",
    "continue",
    "stopReason",
    "permissionDecisionReason",
}


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    status: int | None
    stdout: bytes
    seconds: float


@dataclass
class Tally:
    """What the runs of one case came to."""

    runs: int = 0
    statuses: int = 0
    shapes: int = 0
    endless: int = 0
    slowest: float = 0.0
    damage: int = 0
    troubles: list[str] = field(default_factory=list)

    def add(self, number: int, call: Call, outcome: Outcome) -> None:
        """Take in one run."""
        wrong = wrong_output(call, outcome.stdout)
        self.runs += 1
        self.statuses += outcome.status not in (0, None)
        self.endless += outcome.status is None
        self.shapes += bool(wrong)
        self.slowest = max(self.slowest, outcome.seconds)
        if outcome.status != 0 or wrong:
            self.troubles.append(f"run {number}: {call.hook} ended {outcome.status}; {wrong}")

    def row(self, what: str) -> dict[str, Any]:
        """For the table."""
        return {
            "what": what,
            "runs": self.runs,
            "exit ≠ 0": self.statuses,
            "bad stdout": self.shapes,
            "endless": self.endless,
            "damage": self.damage,
            "slowest ms": round(self.slowest * 1_000),
        }


def words(call: Call, scene: Scene) -> list[str]:
    """The command line of one run, as a host has it."""
    if call.hook in VERBS:
        line = [sys.executable, "-m", "holdfast", "hook", call.hook]
    else:
        name = "claude_capture.py" if call.hook == "capture" else "claude_inject.py"
        line = [sys.executable, "-I", "-S", str(SCRIPTS / name), str(scene.cache)]
        line += ["--shorten", "4000"] if call.hook == "shorten" else []
    before = ""
    if call.lost_folder:
        gone = tempfile.mkdtemp(dir=scene.folder)
        before = f'cd "{gone}" && rmdir "{gone}" && '
    if scene.small:
        before += "ulimit -f 0; "
    after = call.shell + (" <&-" if call.host == "closed" else "")
    return ["/bin/sh", "-c", f'{before}exec "$@" {after}', "sh", *line] if before + after else line


def environment(call: Call, scene: Scene) -> dict[str, str]:
    """What a host hands on."""
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(scene.folder / "nobody"),
        "USER": os.environ.get("USER", "root"),
        "PYTHONPATH": str(SCRIPTS.parents[2]),
        "HOLDFAST_HOME": str(scene.home),
        "XDG_CONFIG_HOME": str(scene.folder / "config"),
        "XDG_DATA_HOME": str(scene.folder / "data"),
        "CLAUDE_PROJECT_DIR": str(scene.root),
    }
    return {name: value for name, value in given.items() if name not in call.without}


def run(call: Call, scene: Scene) -> Outcome:
    """Start it, say what there is to say, and wait."""
    start = time.perf_counter()
    process = subprocess.Popen(
        words(call, scene),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=scene.root,
        env=environment(call, scene),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()
    # a slow host goes on talking when the hook is gone, which is not the hook's time
    talk = threading.Thread(target=_say, args=(call, process.stdin))
    talk.start()
    try:
        if not call.slowly:
            talk.join()
        status = process.wait()  # with a timeout it would look every 50 ms only
        seconds = time.perf_counter() - start
    finally:
        watch.cancel()
    stdout = process.stdout.read()
    process.stdout.close()
    talk.join()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    return Outcome(None if seconds >= PATIENCE else status, stdout, seconds)


def _say(call: Call, to: IO[bytes]) -> None:
    """What there is to say, with the pauses a slow host makes."""
    said = 0
    with contextlib.suppress(BrokenPipeError):
        for at, seconds in call.slowly:
            to.write(call.stdin[said:at])
            to.flush()
            time.sleep(seconds)
            said = at
        to.write(call.stdin[said:])
        to.flush()
    if call.host != "open":
        with contextlib.suppress(BrokenPipeError):
            to.close()


def wrong_output(call: Call, stdout: bytes) -> str:
    """What is wrong with what was printed; empty when nothing is."""
    if not stdout:
        return ""
    if call.hook == "capture":
        return "a capturing hook says nothing"
    try:
        said = json.loads(stdout)
        event = json.loads(call.stdin).get("hook_event_name")
    except (ValueError, AttributeError):
        return f"no JSON, or an answer to none: {stdout[:200]!r}"
    if call.hook in VERBS:
        fits = set(said) == {"context"} and isinstance(said["context"], str)
        return "" if fits and call.hook == "pre-response" else f"not the shape: {stdout[:200]!r}"
    told = said.get("hookSpecificOutput") if isinstance(said, dict) else None
    if not isinstance(told, dict) or set(said) != {"hookSpecificOutput"}:
        return f"not the shape: {stdout[:200]!r}"
    more = set(told) - {"hookEventName"}
    if told.get("hookEventName") != event or more & _DECISIONS or len(more) != 1:
        return f"another event or a decision: {stdout[:200]!r}"
    fits = isinstance(told.get("additionalContext"), str) or more == {"updatedToolOutput"}
    return "" if fits else f"not the shape: {stdout[:200]!r}"


@contextlib.contextmanager
def staged(case: Case, folder: Path) -> Iterator[Scene]:
    """The setting of a case; when it is taken down, nobody is left in it."""
    scene = Scene(folder)
    scene.make()
    with ExitStack() as stack:
        case.setting(scene, stack)
        yield scene
        leave(scene)


def calls(case: Case, count: int, seed: int, scene: Scene) -> Iterator[tuple[int, Call]]:
    """So many calls; each number makes the same call in every run."""
    for number in range(count):
        yield number, case.maker(random.Random(f"{seed} {case.name} {number}"), scene)


def alive(folder: Path) -> dict[int, str]:
    """The processes that were started for a scene: all of them have its folder in their environment."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
                if f"{folder}/".encode() in (entry / "environ").read_bytes():
                    found[int(entry.name)] = line.replace("\0", " ")
    return found


def leave(scene: Scene) -> None:
    """Ask the resident to go, and wait until everybody who works apart has ended."""
    end = time.monotonic() + _APART
    while alive(scene.folder) and time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):
            resident.ask(str(scene.log), {"do": "stop"}, lambda: 2.0)
        time.sleep(0.1)
    left = alive(scene.folder)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    if left:
        raise AssertionError(f"still there after {_APART:.0f} s: {left}")


def damage(scene: Scene) -> int:
    """How much of the log is not sound."""
    must_exist(str(scene.home), scene.log.name)
    log = FileLog(str(scene.log))
    try:
        return 0 if log.verify().sound else 1
    finally:
        log.close()


def tried(case: Case, count: int, seed: int, folder: Path) -> Tally:
    """All runs of one case, a few at a time."""
    tally = Tally()
    with staged(case, folder) as scene, ThreadPoolExecutor(_WORKERS) as pool:
        made = calls(case, count, seed, scene)
        done = pool.map(lambda one: (*one, run(one[1], scene)), made)
        for number, call, outcome in track(
            done, case.name, count, transient=True, disable=not sys.stdout.isatty()
        ):
            tally.add(number, call, outcome)
        leave(scene)
        tally.damage = damage(scene)
    return tally


def main() -> None:
    """Every case its share of the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=20_261_116)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = [case for case in CASES if given.only in case.name]
    total = sum(case.weight for case in chosen)
    rows, troubles = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for number, case in enumerate(chosen):
            count = math.ceil(given.runs * case.weight / total)
            tally = tried(case, count, given.seed, Path(scratch) / str(number))
            rows.append(tally.row(case.name))
            troubles += [f"{case.name}, seed {given.seed}, {said}" for said in tally.troubles]
            print(json.dumps(rows[-1], ensure_ascii=False), file=sys.stderr, flush=True)
    sums = {name: sum(row[name] for row in rows) for name in list(rows[0])[1:-1]}
    worst = max(row["slowest ms"] for row in rows)
    rows.append({"what": "all", **sums, "slowest ms": worst})
    show(f"hostile runs of hooks (seed {given.seed})", rows, as_json=given.json)
    for said in troubles[:50]:
        print(said)


if __name__ == "__main__":
    main()

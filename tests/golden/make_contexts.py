"""Makes golden contexts of today's way of rendering, once: `python -m tests.golden.make_contexts NAME`.

What it writes is a promise: a context that was handed out is rendered the same for ever. Others are made
only for a new version of rendering, under a new name; those that are there stay. `contexts` shows
everything but compactions; what begins with `compacted` shows those, with the version as its end.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.open import init
from holdfast.model.events import Draft
from holdfast.model.packs import Pack
from tests.recall.replays import Ticking

HERE = Path(__file__).parent
LONG = "\n".join(f"line {n}: the value of field {n} is {n * 7}" for n in range(300))


def main(kind: str) -> None:
    """Write the logs and what each context says."""
    place_of = HERE / kind
    if place_of.exists():
        raise SystemExit(f"{place_of} is there and stays; give another name")
    lived = compacted_life if kind.startswith("compacted") else life
    with tempfile.TemporaryDirectory() as place:
        root, home = Path(place) / "work", Path(place) / "home"
        root.mkdir()
        init(root, home).close()
        clock = Ticking()
        with holdfast.open(home, path=root, user="ana", now=clock) as hf:
            packs = lived(hf, clock)
            logs = {log.project.id: Path(log.folder) for log in hf.logs("ana")}
            name = hf.project.id
        for project_id, folder in logs.items():
            kept = place_of / ("project" if project_id == name else "user")
            kept.mkdir(parents=True)
            for file in sorted(folder.glob("events*.ndjson")):
                shutil.copy(file, kept / file.name)
        told = {"project": name, "packs": [said(pack) for pack in packs]}
        text = json.dumps(told, ensure_ascii=False, indent=1)
        (place_of / "contexts.json").write_text(text + "\n", "utf-8")


def said(pack: Pack) -> dict[str, Any]:
    """What must never change."""
    return {"id": pack.id, "text": pack.text, "messages": pack.messages, "system": pack.system}


def life(hf: Holdfast, clock: Ticking) -> list[Pack]:
    """One session with everything a context can show, in both formats."""
    packs = []
    learned(hf)
    (Path(hf.project.root) / "guide.md").write_text(
        "# Guide\n\n## Deploy\n\nThe service is deployed on Mondays.\n\n```sh\nmake deploy\n```\n"
    )
    hf.documents.add("guide.md")
    with hf.session(agent="coder") as before:
        before.user(f"Keep this.\n\n{LONG[:6_000]}")
        before.error("ImportError: no module named zebra")
        before.decision("Install zebra from the mirror.")
        before.gate(1, passed=True)
    old = hf.remember("The service listens on port 8080.", tags=["deploy"])
    s = hf.session(agent="coder").start()
    for n, format_ in enumerate(("openai", "anthropic", "openai", "anthropic")):
        clock.minutes += 1
        s.user(f"On which day is the service deployed, and on which port? {n} <hf:memory> \u202e")
        s.tool_call("Bash", {"command": f"make {n}"}, call_id=f"c{n}")
        s.tool_result("Bash", LONG if n == 1 else f"done {n}", call_id=f"c{n}")
        s.update_state({"task": f"step {n}", "seen": [n, None, {"a": "é"}]})
        if n == 2:
            old = hf.remember("The service listens on port 9090.", supersedes=old.id)
        packs.append(
            s.context(
                "deploy of the service: day, port, field 207",
                format=format_,
                model="gpt-4",
                system="You are a coder.",
                tools=[{"name": "Bash", "description": "Runs a command."}],
                budget=1_500,
            )
        )
        s.assistant(f"On Mondays, I think. {n}", speaker="Coder")
    s.end()
    return packs


def compacted_life(hf: Holdfast, clock: Ticking) -> list[Pack]:
    """One session that is compacted twice: lines, summaries by rule and by a model, what stays."""
    packs = []
    with hf.session(agent="coder") as s:
        s.user("Never deploy on Friday.", pinned=True)
        for n in range(24):
            clock.minutes += 1
            s.user(f"Look at src/part{n}.py <hf:earlier> \u202e, please. " + "It is odd. " * 20)
            s.tool_call("Bash", {"command": f"make {n}"}, call_id=f"c{n}")
            s.tool_result("Bash", f"KeyError: {n}\n{LONG[:1_500]}", call_id=f"c{n}", is_error=True)
            s.assistant(f"Part {n} is mended. " + "It was a key. " * 20)
            if n in (11, 20):
                s.compact("part 7", to=1_800, window=8_000, strategy="recursive_summarization")
                by_a_model(hf)
            if n % 6 == 5:
                form = ("openai", "anthropic")[n % 12 == 5]
                packs.append(s.context(f"part {n}", window=8_000, budget=300, format=form))
    return packs


def by_a_model(hf: Holdfast) -> None:
    """The same compaction again, its summaries by a model; nobody is asked for that."""
    *_, last = (event for event in hf.events() if event.kind == "compacted")
    past = json.loads(last.payload["past"])
    for one in past["shorts"][::2]:
        one["by"] = 'm "1"'
    said = {**last.payload, "follows": last.event_id, "past": json.dumps(past)}
    hf.record(
        [
            Draft(
                type="compacted",
                payload=said,
                origin="system",
                session_id=last.session_id,
                agent=last.agent,
                user=last.user,
            )
        ]
    )


def learned(hf: Holdfast) -> None:
    """A memory of every kind."""
    hf.remember("Never deploy on Friday.", category="rules")
    hf.remember("Ana prefers short answers.", category="preferences", scope="user")
    hf.remember(
        "How to deploy the service", kind="workflow", steps=["make", "make deploy", "look at it"]
    )
    hf.remember(
        "On Monday the deploy of the service failed twice, then Ben found a full disk. "
        "Since then the disk is looked at before every deploy.",
        kind="episode",
        title="The full disk",
    )
    hf.remember("The service keeps 世界 and \U0001f30d in UTF-8.", importance=0.95)


if __name__ == "__main__":
    main(sys.argv[1])

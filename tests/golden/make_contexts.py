"""Makes the golden contexts of today's way of rendering, once: `python -m tests.golden.make_contexts`.

What it writes is a promise: a context that was handed out is rendered the same for ever. Another is made
only for a new version of rendering, under a new name; this one stays.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.open import init
from holdfast.model.packs import Pack
from tests.recall.replays import Ticking

HERE = Path(__file__).parent / "contexts"
LONG = "\n".join(f"line {n}: the value of field {n} is {n * 7}" for n in range(300))


def main() -> None:
    """Write the logs and what each context says."""
    with tempfile.TemporaryDirectory() as place:
        root, home = Path(place) / "work", Path(place) / "home"
        root.mkdir()
        init(root, home).close()
        clock = Ticking()
        with holdfast.open(home, path=root, user="ana", now=clock) as hf:
            packs = life(hf, clock)
            logs = {log.project.id: Path(log.folder) for log in hf.logs("ana")}
            name = hf.project.id
        shutil.rmtree(HERE, ignore_errors=True)
        for project_id, folder in logs.items():
            kept = HERE / ("project" if project_id == name else "user")
            kept.mkdir(parents=True)
            for file in sorted(folder.glob("events*.ndjson")):
                shutil.copy(file, kept / file.name)
        told = {"project": name, "packs": [said(pack) for pack in packs]}
        text = json.dumps(told, ensure_ascii=False, indent=1)
        (HERE / "contexts.json").write_text(text + "\n", "utf-8")


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
    main()

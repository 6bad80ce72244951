"""The comparison with peers, as far as it needs no peer: offline, embeddings, processes, figures."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import holdfast
from bench import peers
from bench.data import Question, read, record
from bench.peer_child import Embeddings, closure, is_of_this_machine, size
from bench.peer_embedding import PATH, EmbeddingServer
from bench.peer_process import Child, Failed, Peer, environment, namespace
from bench.peer_stores import FEW, MANY, Hits, asked, spoken, told
from holdfast.engines.embedders.rows import units
from tests.bench.test_bench_data import LOCOMO, written
from tests.bench.toy_peer import ELSEWHERE
from tests.faults.conftest import need

TURNS = [("t0", "aaaa"), ("t1", "bbbb"), ("t2", "aabb")]
_WIDTH = 26


class Letters:
    """An embedder: how often each letter stands in a text."""

    name = "letters-26"
    dims = _WIDTH
    at_once = 1 << 30

    def passages(self, said: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        rows = [[text.count(chr(97 + n)) for n in range(_WIDTH)] for _, text in said]
        made = np.array(rows, np.float32).reshape(len(said), _WIDTH)
        return units(made)

    def query(self, text: str, common: object) -> NDArray[np.float32]:
        return units(self.passages([("", text)])).reshape(_WIDTH)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(Letters()) as serving:
        yield serving


@pytest.fixture(scope="module")
def address(server: EmbeddingServer) -> str:
    return server.listen()


def toy(way: str, *, required: bool = True) -> Peer:
    module = "tests.bench.toy_peer"
    return Peer(
        name=f"toy {way}",
        module=module,
        way=way,
        packages=("toy",),
        named=("msgspec",),
        required=required,
    )


def child(way: str, server: EmbeddingServer, cage: Sequence[str] = ()) -> Child:
    return Child(toy(way), Path(sys.executable), server, cage)


# ---- offline -----------------------------------------------------------------------------------


@given(st.ip_addresses())
def test_only_the_loopback_is_of_this_machine(host: IPv4Address | IPv6Address) -> None:
    assert is_of_this_machine(str(host)) == host.is_loopback
    assert is_of_this_machine(str(host).encode()) == host.is_loopback


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("127.0.0.7", True),
        ("::1", True),
        ("", True),
        (None, True),
        (0, True),
        ("0.0.0.0", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
    ],
)
def test_a_name_is_not_of_this_machine_unless_it_is_localhost(host: object, ours: bool) -> None:
    assert is_of_this_machine(host) is ours


REFUSING = f"""
import json, socket
from bench.peer_child import refuse_the_world
with socket.create_server(("127.0.0.1", 0)) as here:
    tried, refused = refuse_the_world(), 0
    socket.create_connection(here.getsockname()).close()
    socket.getaddrinfo("localhost", 80)
    talk = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for reach in (
        lambda: socket.create_connection(("{ELSEWHERE}", 80), 1),
        lambda: socket.getaddrinfo("example.org", 80),
        lambda: socket.gethostbyname("example.net"),
        lambda: talk.sendto(b"x", ("{ELSEWHERE}", 53)),
        lambda: talk.sendmsg([b"x"], [], 0, ("{ELSEWHERE}", 53)),
    ):
        try:
            reach()
        except PermissionError:
            refused += 1
    talk.close()
print(json.dumps([refused, tried]))
"""


def test_a_process_that_refuses_the_world_reaches_itself_and_tells_what_else_it_tried() -> None:
    done = subprocess.run([sys.executable, "-c", REFUSING], capture_output=True, check=True)
    refused, tried = json.loads(done.stdout)
    assert refused == 5
    assert tried == [ELSEWHERE, "example.org", "example.net", ELSEWHERE, ELSEWHERE]


def test_what_a_peer_reaches_for_is_refused_and_told(server: EmbeddingServer) -> None:
    with child("calls home", server) as one:
        one.ask("add", turns=TURNS)
        assert one.ask("tried")["tried"] == []
        assert one.ask("ask", question="a", k=3)["found"] == []
        assert one.ask("tried")["tried"] == [ELSEWHERE]


@pytest.mark.tools
def test_a_network_namespace_has_embeddings_and_no_way_out(server: EmbeddingServer) -> None:
    if not namespace():
        need("unshare --net")
    with child("escapes", server, namespace()) as one:
        one.ask("add", turns=TURNS)
        (said,) = one.ask("ask", question="a", k=3)["found"]
        assert "Network is unreachable" in said
    with child("letters", server, namespace()) as one:
        one.ask("add", turns=TURNS)
        assert one.ask("ask", question="bb", k=3)["found"] == ["t1", "t2", "t0"]


# ---- embeddings --------------------------------------------------------------------------------


@given(st.lists(st.text(alphabet="abcé \n", max_size=12), min_size=1, max_size=5))
def test_embeddings_are_those_of_the_embedder_in_the_order_of_the_texts(
    address: str, texts: list[str]
) -> None:
    with closing(Embeddings(address, "x")) as embeddings:
        found = embeddings(texts)
    assert np.array_equal(found, Letters().passages([("", text) for text in texts]))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (PATH, {"input": "one text", "model": "x"}, 200),
        (PATH, {"input": ["one", "two"], "dimensions": 26}, 200),
        (PATH, {"model": "x"}, 400),
        (PATH, {"input": [1]}, 400),
        (PATH, {"input": "x", "encoding_format": "base64"}, 400),
        ("/v1/chat/completions", {"messages": []}, 404),
    ],
)
def test_a_request_is_answered_or_told_what_is_wrong(
    address: str, path: str, body: dict[str, Any], status: int
) -> None:
    connection = http.client.HTTPConnection(address.removeprefix("http://").partition("/")[0])
    connection.request("POST", path, json.dumps(body))
    with connection.getresponse() as response:
        answer = json.loads(response.read())
    connection.close()
    assert response.status == status
    assert set(answer) == ({"object", "data", "model", "usage"} if status == 200 else {"error"})


# ---- processes ---------------------------------------------------------------------------------


def test_a_child_holds_one_conversation_at_a_time(server: EmbeddingServer) -> None:
    with child("letters", server) as one:
        one.ask("add", turns=TURNS)
        assert one.ask("ask", question="aaa", k=2)["found"] == ["t0", "t2"]
        one.ask("add", turns=TURNS[1:])
        assert one.ask("ask", question="aaa", k=9)["found"] == ["t2", "t1"]
        assert one.ask("about")["versions"].keys() == {"msgspec"}
        assert one.ask("tried")["tried"] == []


@pytest.mark.parametrize(
    ("way", "said"), [("breaks", "LookupError: the toy broke"), ("dies", "the toy is dead")]
)
def test_a_peer_fails_with_its_own_words(way: str, said: str, server: EmbeddingServer) -> None:
    with child(way, server) as one:
        one.ask("add", turns=TURNS)
        with pytest.raises(Failed, match=said):
            one.ask("ask", question="a", k=3)


def test_what_cannot_start_has_failed(server: EmbeddingServer, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="No such file"):
        Child(toy("letters"), tmp_path / "python", server, ()).__enter__()
    absent = Peer(name="x", module="tests.bench.nowhere", packages=(), named=())
    alone = Child(absent, Path(sys.executable), server, ())
    with pytest.raises(Failed, match="No module named"), alone as one:
        one.ask("about")


def test_pip_says_itself_what_it_cannot_install(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"(?s)pip install.*no-such-folder"):
        environment(tmp_path, ["./no-such-folder"])
    assert list(tmp_path.rglob("pip"))
    assert not list(tmp_path.rglob("made.json"))  # so the next run tries again


def test_an_installed_package_comes_with_what_it_needs() -> None:
    names = [one.name.lower() for one in closure(["pytest", "PyTest", "no-such-thing"])]
    assert {"pytest", "pluggy", "iniconfig"} <= set(names)
    assert len(names) == len(set(names))
    assert "pytest-xdist" not in names
    assert size(["pytest"]) > size(["pluggy"]) > 0
    assert size(["no-such-thing"]) == 0


# ---- stores ------------------------------------------------------------------------------------


@given(st.permutations(range(30)), st.permutations(range(30)), st.integers(0, 30))
def test_many_go_behind_few_and_nothing_comes_twice(
    first: list[int], second: list[int], cut: int
) -> None:
    def ask(_question: str, k: int) -> Hits:
        found = {FEW: first[:FEW], MANY: second[:cut]}[k]
        return [(place, place + 1) for place in found], float(k)

    answer = asked(Question(text="?", category="x", gold=(0,)), ask)
    assert list(answer.places[:FEW]) == first[:FEW]
    assert list(answer.places[FEW:]) == [p for p in second[:cut] if p not in first[:FEW]]
    assert answer.tokens == tuple(place + 1 for place in answer.places)
    assert answer.seconds == FEW
    assert answer.inject(sum(answer.tokens)) == answer.places


def test_a_conversation_told_turn_by_turn_is_the_one_that_is_recorded_at_once(
    tmp_path: Path,
) -> None:
    (conversation,) = read(written(tmp_path, "x.json", [LOCOMO]), "locomo")
    kept = []
    for home, write in (("one", told), ("two", record)):
        with holdfast.open(tmp_path / home, project="bench", user="reader") as hf:
            places = write(conversation, hf)
            kept.append(
                [
                    (e.type, e.session_id, e.payload, e.timestamp, places.get(e.event_id))
                    for e in hf.events()
                    if isinstance(e, holdfast.Event)
                ]
            )
    assert kept[0] == kept[1]
    assert len(kept[0]) == len(conversation.turns) + 4
    assert spoken(conversation.turns[0]) == "Ana: Look! [a red kite]"


# ---- a whole run -------------------------------------------------------------------------------


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: Sequence[Peer], *options: str
) -> int:
    """The command with these peers, whose environment is the one of the tests; its exit code."""
    python = tmp_path / "toy" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    (tmp_path / "toy" / "made.json").write_text("[]")
    data = written(tmp_path, "x.json", [LOCOMO])
    words = ["bench.peers", str(data), "--environments", str(tmp_path), *options]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(peers, "PEERS", tuple(chosen))
    try:
        peers.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_run_tells_everyones_figures_in_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [toy("letters"), toy("breaks", required=False)]
    assert run(tmp_path, monkeypatch, chosen, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in told["rows"]] == ["holdfast", "toy letters", "FTS5"]
    assert told["failures"] == {"toy breaks": "LookupError: the toy broke"}
    assert (told["n"], told["turns"], told["incomplete"]) == (4, 4, [])
    for row in told["rows"][:2]:
        assert row["n"] == 4
        assert row["R@10"] == row["R≤2k"] == 1  # four turns are fewer than ten
    assert told["rows"][1]["versions"].keys() == {"msgspec"}


@pytest.mark.parametrize("way", ["breaks", "dies"])
def test_a_run_without_one_that_has_to_run_shows_the_others_and_fails(
    way: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(tmp_path, monkeypatch, [toy("letters"), toy(way)]) == 1
    told = capsys.readouterr()
    assert "toy letters" in told.out
    assert f"toy {way}" not in told.out
    assert f"toy {way} failed:" in told.err
    assert "the toy" in told.err.partition("failed:")[2]


def test_times_stand_beside_ours() -> None:
    row = {"what": "x", **dict.fromkeys(peers.COLUMNS.values(), 0.5), "query": {"p50": 2, "p95": 8}}
    other = row | {"what": "y", "ingest": 1e-5, "bytes": 2e6, "query": {"p50": 3, "p95": 4}}
    shown = peers.table({"rows": [row | {"ingest": 4.0}, other], peers.LOOPBACK: None})
    assert [one["ingest s"] for one in shown] == ["4.0 (1×)", "0.0 (<0.01×)"]
    assert [one["query p50 ms"] for one in shown] == ["2.0 (1×)", "3.0 (1.5×)"]
    assert [one["query p95 ms"] for one in shown] == ["8.0 (1×)", "4.0 (0.5×)"]
    assert [one["MB"] for one in shown] == ["", "2"]


def test_a_file_that_is_not_there_is_said_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.peers", str(tmp_path)])
    with pytest.raises(SystemExit, match="locomo"):
        peers.main()

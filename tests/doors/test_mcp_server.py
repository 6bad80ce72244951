"""A real client of the protocol against the server, in both eras of it: over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import holdfast
from holdfast.app import residents
from holdfast.app.toolbox_graph_tools import offered
from holdfast.app.toolbox_pages import PROMPTS, RESOURCES, TEMPLATES
from holdfast.doors.mcp import server as door
from tests.doors.residents import until
from tests.doors.test_mcp_http import Served, served  # noqa: F401  (a fixture)

ERAS = ("legacy", "2026-07-28")
GOLDEN = Path(__file__).parents[1] / "golden" / "mcp_tools.json"
ME = types.Implementation(name="tester", version="1")


def called(answer: types.CallToolResult) -> dict[str, Any]:
    """What a tool answered, which must not be an error."""
    assert not answer.is_error, answer
    texts = [one.text for one in answer.content if isinstance(one, types.TextContent)]
    if answer.structured_content is None:
        return {"text": texts[0] if len(texts) > 1 else "", **json.loads(texts[-1])}
    assert json.loads(texts[0]) == answer.structured_content
    return dict(answer.structured_content)


async def everything(client: Client, *, alone: bool = False) -> None:
    """Every tool, resource and prompt once; `alone` where each call has a session of its own."""

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        untried.discard(name)
        return called(await client.call_tool(name, arguments))

    listed = await client.list_tools()
    untried = {one.name for one in listed.tools}
    assert [one.name for one in listed.tools] == list(offered())
    made = await call("remember", text="The gateway listens on port 8443.", subject="gateway")
    found = await call("memory_search", query="gateway port")
    assert found["hits"][0]["id"] == made["id"]
    decided = await call("record_decision", text="TLS everywhere.")
    pack = await call("context", query="gateway port", budget=1_000)
    assert "port 8443" in pack["text"]
    assert (await call("expand", ref=made["id"]))["text"] == made["text"]
    assert (await call("used", ids=[made["id"]], verdict="useful"))["noted"] == [made["id"]]
    status = await call("session_status")
    assert (status["session"]["agent"], status["session"]["own"]) == ("mcp/tester", not alone)
    assert (decided["session"] == status["session"]["id"]) is not alone

    addresses = {one.uri for one in (await client.list_resources()).resources}
    assert addresses == {one["uri"] for one in RESOURCES}
    shapes = (await client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in shapes] == [one["uriTemplate"] for one in TEMPLATES]
    filled = {made["id"]: "holdfast://memories/{id}", pack["pack"]: "holdfast://pack/{id}/receipt"}
    addresses |= {shape.replace("{id}", one) for one, shape in filled.items()}
    for address in sorted(addresses):
        (page,) = (await client.read_resource(address)).contents
        assert isinstance(page, types.TextResourceContents)
        assert json.loads(page.text)
    for prompt in (await client.list_prompts()).prompts:
        given = {one.name: "gateway" for one in prompt.arguments or ()}
        assert (await client.get_prompt(prompt.name, given)).messages
    assert len((await client.list_prompts()).prompts) == len(PROMPTS)

    assert (await call("forget", id=made["id"], reason="moved"))["forgotten"] == made["id"]
    assert untried == set()


async def mistakes(client: Client) -> None:
    """What a model or a host does wrong is told in words, and the server goes on."""
    wrong = await client.call_tool("remember", {"txt": "x"})
    assert wrong.is_error
    assert "it takes text, kind" in str(wrong.content)
    gone = await client.call_tool("forget", {"id": "mem_x", "reason": "r"})
    assert gone.is_error
    assert "there is no memory mem_x" in str(gone.content)
    for asking in (
        client.call_tool("erase_everything", {}),
        client.read_resource("holdfast://memories/mem_x"),
        client.get_prompt("other", {}),
        client.get_prompt("recall", {}),
    ):
        with pytest.raises(MCPError) as refused:
            await asking
        assert refused.value.code == types.INVALID_PARAMS
    assert (await client.list_tools()).tools


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    with holdfast.open(tmp_path / "home", project="p") as hf:
        folder = hf.folder
    yield tmp_path
    residents.stop(folder)


def over_stdio(project: Path, *more: str) -> StdioServerParameters:
    run = "from holdfast.doors.cli import main; main()"
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", run, "mcp", "--project", "p", "--home", str(project / "home"), *more],
        env={"XDG_CONFIG_HOME": str(project / "config"), "PATH": os.environ["PATH"]},
    )


@pytest.mark.parametrize("era", ERAS)
def test_a_client_over_stdio_can_use_everything(project: Path, era: str) -> None:
    async def run() -> None:
        async with Client(over_stdio(project), mode=era, client_info=ME) as client:
            await everything(client)
            await mistakes(client)

    asyncio.run(run())
    with holdfast.open(project / "home", project="p") as hf:
        (info,) = hf.sessions()
        assert (info.agent, info.ended_because) == ("mcp/tester", "client left")


@asynccontextmanager
async def connected(to: Served, era: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {to.token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(
            streamable_http_client(to.url, http_client=http), mode=era, client_info=ME
        ) as client,
    ):
        yield client


@pytest.mark.parametrize("era", ERAS)
def test_a_client_over_http_can_use_everything(served: Served, era: str) -> None:  # noqa: F811
    async def run() -> None:
        async with connected(served, era) as client:
            await everything(client, alone=era != "legacy")
            await mistakes(client)

    asyncio.run(run())


def test_where_nobody_can_tell_clients_apart_no_call_sees_another(served: Served) -> None:  # noqa: F811
    async def run() -> list[str]:
        async with connected(served, "2026-07-28") as one, connected(served, "2026-07-28") as other:
            answers = [
                called(await client.call_tool("record_decision", {"text": "Mine."}))
                for client in (one, other, one)
            ]
            return [str(answer["session"]) for answer in answers]

    sessions = asyncio.run(run())
    assert len(set(sessions)) == 3
    with holdfast.open(served.home, project="p") as hf:
        known = {info.id: info for info in hf.sessions()}
        assert not any(known[one].open for one in sessions)


def test_clients_over_http_have_sessions_of_their_own(served: Served) -> None:  # noqa: F811
    async def run() -> list[str]:
        async with connected(served, "legacy") as one, connected(served, "legacy") as other:
            asked = {"text": "Mine."}
            answers = [
                called(await client.call_tool("record_decision", asked))
                for client in (one, other, one)
            ]
            return [str(answer["session"]) for answer in answers]

    first, second, again = asyncio.run(run())
    assert first == again != second
    with holdfast.open(served.home, project="p") as hf:
        # a session ends once the server has noticed that its client left
        until(lambda: {first, second}.isdisjoint(info.id for info in hf.sessions() if info.open))
        assert {first, second} <= {info.id for info in hf.sessions()}


def test_the_nine_tools_of_the_reference_server(project: Path) -> None:
    async def run() -> None:
        async with Client(over_stdio(project, "--compat"), client_info=ME) as client:
            assert [one.name for one in (await client.list_tools()).tools] == list(
                offered(compat=True)
            )
            one = {"name": "Ana", "entityType": "person", "observations": ["likes tea"]}
            made = await client.call_tool("create_entities", {"entities": [one]})
            assert made.structured_content == {"entities": [one]}
            assert json.loads(made.content[0].text) == [one]  # type: ignore[union-attr]
            gone = await client.call_tool("delete_entities", {"entityNames": ["Ana"]})
            assert gone.content[0].text == "Entities deleted successfully"  # type: ignore[union-attr]
            with pytest.raises(MCPError):
                await client.call_tool("remember", {"text": "x"})

    asyncio.run(run())


# ---- the door by itself ----------------------------------------------------------------------


def broken(operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    raise RuntimeError(f"the password is hunter2, in {operation}")


@pytest.mark.parametrize("era", ERAS)
def test_what_nobody_expected_is_told_in_neutral_words_and_logged(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> list[str]:
        async with Client(door.build(broken, lambda _: "one"), mode=era) as client:
            answer = await client.call_tool("context", {})
            assert answer.is_error
            told = [str(answer.content)]
            for asking in (
                client.read_resource("holdfast://topics"),
                client.get_prompt("continue", {}),
            ):
                with pytest.raises(MCPError) as failed:
                    await asking
                told.append(str(failed.value))
            return told

    with caplog.at_level(logging.ERROR, "holdfast.mcp"):
        told = asyncio.run(run())
    assert all("something unexpected" in words for words in told)
    assert "hunter2" not in str(told)
    assert "hunter2" in caplog.text


def test_the_door_asks_the_caller_and_nobody_else() -> None:
    """So a call may be answered by another process, which keeps the project open."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def caller(operation: str, said: Mapping[str, Any]) -> dict[str, Any]:
        asked.append((operation, json.loads(json.dumps(said))))
        return {"hits": []}

    async def run() -> None:
        async with Client(door.build(caller, lambda _: "key"), client_info=ME) as client:
            await client.list_tools()
            assert asked == []
            called(await client.call_tool("memory_search", {"query": "x"}))

    asyncio.run(run())
    who = {"client": "key", "as": "tester"}
    said = {"name": "memory_search", "arguments": {"query": "x"}, **who}
    assert asked == [("tools/call", said)]


def definitions() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for name, compat in (("tools", False), ("compat", True)):
        yield name, [one.definition() for one in offered(compat=compat).values()]


def test_the_tools_are_what_was_promised() -> None:
    """To promise something more: HOLDFAST_GOLDEN=write pytest -k promised, and read the difference."""
    today = dict(definitions())
    if os.environ.get("HOLDFAST_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(today, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert today == json.loads(GOLDEN.read_text("utf-8"))


def test_every_schema_stands_alone_and_every_field_says_what_it_is() -> None:
    for name, listed in definitions():
        for one in listed:
            shape = one["inputSchema"]
            assert "$ref" not in json.dumps(shape), one["name"]
            assert shape["additionalProperties"] is False
            assert set(one["annotations"].values()) <= {True, False}
            assert one["annotations"]["openWorldHint"] is False
            for field, about in shape["properties"].items():
                assert "type" in about, (one["name"], field)
                assert name == "compat" or about["description"], (one["name"], field)

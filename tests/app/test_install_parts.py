"""What is put into a file comes out again without a trace, however the file is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.app.install_claude import EVENTS, Machine, hooks, server
from holdfast.app.install_files import digest
from holdfast.app.install_parts import Block, Hooks, Part, Put, Server, Skill, taken_out
from holdfast.app.install_words import BEGIN, BLOCK, END
from holdfast.errors import Invalid

MACHINE = Machine(python="/a b/python", scripts="/lib/holdfast/doors/hooks", home="/h'é")
OTHER = Machine(python="/new/python", scripts="/new/holdfast/doors/hooks", home="/h'é")
HOOKS = Hooks(path="settings.json", groups=hooks(MACHINE, None))
SERVER = Server(path=".mcp.json", server=server(MACHINE))
JSON_PARTS = st.sampled_from([HOOKS, SERVER])

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
plain = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | words
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner)
)
commands = st.fixed_dictionaries({"type": st.just("command"), "command": words})
groups = st.fixed_dictionaries(
    {"hooks": st.lists(commands, max_size=2)}, optional={"matcher": words}
)
events = st.sampled_from([event.name for event in EVENTS]) | st.just("Notification")
others = st.dictionaries(events, st.lists(groups, max_size=2), max_size=4)
servers = st.dictionaries(words.filter(lambda name: name != "holdfast"), values, max_size=2)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of somebody, with hooks and servers of theirs, in any order."""
    found: dict[str, Any] = draw(st.dictionaries(words, values, max_size=3))
    for name, kind in (("hooks", others), ("mcpServers", servers)):
        found.pop(name, None)
        if draw(st.booleans()):
            found[name] = draw(kind)
    return dict(draw(st.permutations(list(found.items()))))


@st.composite
def written(draw: st.DrawFn) -> bytes:
    """A document as editors, programs and people write it."""
    value = draw(documents())
    kind = draw(st.sampled_from(["indented", "flat", "tight", "wild"]))
    if kind == "wild":
        text = _wild(draw, value)
    else:
        indents: list[int | str] = [1, 2, 4, "\t", 0]
        indent = draw(st.sampled_from(indents)) if kind == "indented" else None
        apart = (",", ":") if kind == "tight" else (",", ": ") if indent is not None else None
        escaped = draw(st.booleans())
        text = json.dumps(value, indent=indent, separators=apart, ensure_ascii=escaped)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    end = draw(st.sampled_from(["", "\n", "\n\n", "  "]))
    begin = draw(st.sampled_from(["", "", "\n", "\ufeff"]))
    return (begin + (text + end).replace("\n", newline)).encode()


def _wild(draw: st.DrawFn, value: Any) -> str:
    """Any white space JSON allows, anywhere it allows it."""

    def gap() -> str:
        return draw(st.sampled_from(["", "", " ", "\n", "\t", "\n  ", " \n"]))

    if isinstance(value, dict):
        inner = [
            f"{gap()}{json.dumps(name)}{gap()}:{gap()}{_wild(draw, one)}{gap()}"
            for name, one in value.items()
        ]
        return "{" + (",".join(inner) or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(gap() + _wild(draw, one) + gap() for one in value) or gap()) + "]"
    return json.dumps(value)


def installed(part: Part, data: bytes | None) -> tuple[bytes, Put]:
    new, added = part.put(data)
    put = Put(
        path=part.path,
        kind=part.kind,
        made=data is None,
        added=added,
        before=None if data is None else digest(data),
        after=digest(new),
    )
    return new, put


def parsed(data: bytes) -> Any:
    return json.loads(data.decode().removeprefix("\ufeff"))


def theirs(part: Part, value: dict[str, Any]) -> dict[str, Any]:
    """A document without ours, and without lists and objects that hold nothing."""
    name = "hooks" if part.kind == "hooks" else "mcpServers"
    held = dict(value.get(name, {}))
    if part.kind == "hooks":
        for event, found in held.items():
            held[event] = [group for group in found if group not in list(HOOKS.groups.values())]
        held = {event: found for event, found in held.items() if found}
    else:
        held.pop("holdfast", None)
    rest = {key: one for key, one in value.items() if key != name}
    return {**rest, name: held} if held else rest


@given(part=JSON_PARTS, data=written())
def test_what_was_put_in_comes_out_byte_for_byte(part: Part, data: bytes) -> None:
    new, put = installed(part, data)
    assert new != data
    assert taken_out(part, new, put) == data


@given(part=JSON_PARTS, data=written())
def test_once_it_is_there_it_is_known_to_be_there(part: Part, data: bytes) -> None:
    assert not part.holds(data)
    assert part.holds(part.put(data)[0])


@given(part=JSON_PARTS, data=written())
def test_what_others_put_there_is_untouched_at_every_step(part: Part, data: bytes) -> None:
    new = part.put(data)[0]
    before = theirs(part, parsed(data))
    assert theirs(part, parsed(new)) == before
    bare = part.cut(new)
    assert bare is not None
    assert theirs(part, parsed(bare)) == before
    assert part.cut(bare) == bare
    assert list(parsed(bare)) == [key for key in parsed(data) if key in parsed(bare)]


@given(part=JSON_PARTS, data=written(), edit=st.sampled_from(['"x y": [1],', '"x y": null ,\n']))
def test_edits_elsewhere_stay_and_the_rest_is_as_before(part: Part, data: bytes, edit: str) -> None:
    new, put = installed(part, data)
    if not parsed(data):
        return  # there is no elsewhere in an empty document

    def edited(what: bytes) -> bytes:
        return what.replace(b"{", b"{" + edit.encode(), 1) + b"\n"

    assert taken_out(part, edited(new), put) == edited(data)


@given(part=JSON_PARTS, data=written(), indent=st.sampled_from([None, 1, 4, "\t"]))
def test_a_file_written_anew_by_a_program_loses_only_our_part(
    part: Part, data: bytes, indent: int | str | None
) -> None:
    new, put = installed(part, data)
    again = json.dumps(parsed(new), indent=indent, sort_keys=True).encode()
    rest = taken_out(part, again, put)
    assert rest is not None
    assert theirs(part, parsed(rest)) == theirs(part, parsed(data))


@given(part=JSON_PARTS, data=written())
def test_old_entries_are_replaced_by_those_of_another_interpreter(part: Part, data: bytes) -> None:
    upgraded: Part = (
        Hooks(path="settings.json", groups=hooks(OTHER, 5_000))
        if part.kind == "hooks"
        else Server(path=".mcp.json", server=server(OTHER))
    )
    old, put = installed(part, data)
    assert not upgraded.holds(old)
    base = taken_out(upgraded, old, put)
    assert base == data
    new, fresh = installed(upgraded, base)
    assert b"/new/" in new
    assert taken_out(upgraded, new, fresh) == data


@pytest.mark.parametrize("part", [HOOKS, SERVER])
@pytest.mark.parametrize("data", [b"", b"\n", b"  \r\n", b"{}", b"{ }\n", b"{\n}", b"\t{\r\n\r\n}"])
def test_a_file_with_nothing_in_it_comes_back_as_it_was(part: Part, data: bytes) -> None:
    new, put = installed(part, data)
    assert part.holds(new)
    assert taken_out(part, new, put) == data


@pytest.mark.parametrize("part", [HOOKS, SERVER])
def test_a_file_that_was_made_goes_whole_even_when_it_was_written_anew(part: Part) -> None:
    new, put = installed(part, None)
    assert taken_out(part, new, put) is None
    assert taken_out(part, json.dumps(parsed(new)).encode(), put) is None
    assert taken_out(part, new, None) is None


def test_hooks_somebody_added_beside_ours_stay() -> None:
    new, put = installed(HOOKS, None)
    value = parsed(new)
    mine = {"type": "command", "command": "make lint"}
    value["hooks"]["Stop"][0]["hooks"].append(mine)
    value["hooks"]["Notification"] = [{"hooks": [mine]}]
    rest = taken_out(HOOKS, json.dumps(value).encode(), put)
    assert rest is not None
    assert parsed(rest) == {
        "hooks": {"Stop": [{"hooks": [mine]}], "Notification": [{"hooks": [mine]}]}
    }


def test_what_is_added_is_written_the_way_the_file_is() -> None:
    new = SERVER.put(b'{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}\n')[0].decode()
    assert new.startswith(
        '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"holdfast": {\n\t\t\t"type": "stdio",'
    )
    assert '"/h\'é"\n\t\t\t]\n\t\t}\n\t}\n}\n' in new
    flat = SERVER.put(b'{"a":1}')[0].decode()
    assert flat.startswith(
        '{"a":1,"mcpServers":{"holdfast":{"type":"stdio","command":"/a b/python",'
    )
    windows = SERVER.put(b'{\r\n  "a": 1\r\n}\r\n')[0]
    assert windows.count(b"\n") == windows.count(b"\r\n") > 10


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{\n  // no\n}", "line 2: this is not JSON"),
        (b'{"a": 1,}', "line 1: this is not JSON"),
        (b'{\n\n"a" 1}', "line 3: this is not JSON: : should stand here"),
        (b'{"a": NaN}', "line 1: this is not JSON"),
        (b'{"a": 01}', "line 1: this is not JSON"),
        (b'{"a": "\t"}', "line 1: this is not JSON"),
        (b'{"a": 1} {}', "line 1: there is more behind the end"),
        (b'{"a": "\xff"}', "line 1: this is not UTF-8"),
        (b"[]", "line 1: settings are an object"),
        (b"[" * 400, "nested deeper"),
        (b'{\n"hooks": []}', "line 2: hooks must be an object"),
        (b'{\n"hooks":\n{"Stop": {}}}', "line 3: Stop must be a list"),
    ],
)
def test_what_is_not_settings_is_refused_by_file_and_line(data: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=r"settings\.json, line") as refused:
        HOOKS.put(data)
    assert said in str(refused.value)


def test_a_server_of_another_make_is_not_ours() -> None:
    data = b'{"mcpServers": {"holdfast": {"command": "anchor"}}}'
    assert "a server of yours is named holdfast" in SERVER.blocked(data)
    assert SERVER.cut(data) == data
    with pytest.raises(Invalid, match="line 1: mcpServers must be an object"):
        SERVER.put(b'{"mcpServers": 1}')


# ---- instructions and skills -------------------------------------------------------------------

pages = st.text(st.sampled_from("a# \n\t<!-é"), max_size=40).map(
    lambda text: text.replace(BEGIN, "").encode()
) | st.binary(max_size=20)


@given(data=pages, windows=st.booleans())
def test_the_block_comes_out_byte_for_byte(data: bytes, windows: bool) -> None:
    page = data.replace(b"\n", b"\r\n") if windows else data
    block = Block(path="CLAUDE.md")
    new, put = installed(block, page)
    assert block.holds(new)
    assert not block.holds(page)
    assert taken_out(block, new, put) == page
    assert taken_out(block, b"# Above\n" + new, put) == b"# Above\n" + page
    rest = block.cut(new)
    assert rest is not None
    assert rest.rstrip(b"\r\n") == page.rstrip(b"\r\n")


def test_lines_around_the_block_stay_lines_of_their_own() -> None:
    block = Block(path="CLAUDE.md")
    new, put = installed(block, b"above")
    assert taken_out(block, new + b"below\n", put) == b"above\nbelow\n"
    made, put = installed(block, None)
    assert taken_out(block, made, put) is None
    assert taken_out(block, made + b"mine\n", put) == b"mine\n"
    changed = made.replace(b"Never", b"Always")
    assert not block.holds(changed)
    assert block.cut(b"a\n" + changed + b"b\n") == b"a\nb\n"


@pytest.mark.parametrize("mark", [BEGIN, END])
def test_half_a_block_is_named_by_its_line(mark: str) -> None:
    with pytest.raises(Invalid, match=r"CLAUDE\.md, line 2: .* other half"):
        Block(path="CLAUDE.md").cut(f"one\n{mark}\nrest\n".encode())


def test_a_skill_says_itself_whether_somebody_changed_it() -> None:
    skill = Skill(path="SKILL.md", text="---\nname: x\n---\nDo.\n")
    new, put = installed(skill, None)
    assert skill.holds(new)
    assert skill.cut(new) is None
    assert taken_out(skill, new, put) is None
    changed = new.replace(b"Do.", b"Do not.")
    assert skill.cut(changed) == changed
    assert "you changed this skill" in skill.blocked(changed)
    assert "a skill of yours" in skill.blocked(b"---\nname: x\n---\n")
    assert skill.blocked(None) == ""


def test_the_block_is_short() -> None:
    assert len(BLOCK.split()) <= 200

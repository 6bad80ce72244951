"""Commands about items: save, list, load, show, tiers, stats, diff, pin, unpin."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter
from rich.text import Text

from holdfast.errors import Invalid
from holdfast.model.items import TIERS, ContextItem, as_dict

from . import show
from .program import DEFAULT, ME, PLAIN, Asker, Common, app, opened

items = App(
    name="items",
    help="What agents keep of their working context, hot, warm and cold.",
    default_parameter=PLAIN,
)
app.command(items)

Agent = Annotated[str, Parameter(help="Whose items: the agent they belong to.")]
User = Annotated[str | None, Parameter(help="In whose name. Default: yours.")]
Tier = Annotated[str, Parameter(help="Only those of this tier: HOT, WARM, COLD or ALL.")]
_COLOURS = {"HOT": "red", "WARM": "yellow", "COLD": "blue"}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class About:
    """What is said about an item."""

    type: Annotated[
        str | None,
        Parameter(help="TASK, CODE, ERROR, TEST_RESULT, PRD_SECTION or your own. Default: CODE."),
    ] = None
    id: Annotated[str | None, Parameter(help="Save another revision of this item.")] = None
    importance: Annotated[
        float | None, Parameter(help="0 to 1, in place of what its type is worth.")
    ] = None
    pinned: Annotated[bool | None, Parameter(help="Hot whatever its score is.")] = None
    important: Annotated[bool | None, Parameter(help="Not to leave the window.")] = None
    tag: Annotated[tuple[str, ...], Parameter(help="Give it again for more.", negative=())] = ()

    def said(self) -> dict[str, Any]:
        """What was given, by the names the verb has for it."""
        given = {**vars(self), "tags": self.tag or None}
        del given["tag"]
        return {name: value for name, value in given.items() if value is not None}


NOTHING = About()


@items.command
def save(
    *text: str,
    agent: Agent,
    file: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    about: About = NOTHING,
    user: User = None,
    common: Common = DEFAULT,
) -> int:
    """Save an item, or with --id another revision of it.

    Parameters
    ----------
    text
        What to keep, quoted or not.
    file
        Keep what this file says instead; - for standard input.
    """
    words = " ".join(text) if file is None else _read(file, text)
    with opened(common) as hf:
        made = hf.items.save(words, agent=agent, user=user, **about.said())
        if common.json:
            show.as_json(as_dict(made))
        else:
            verb = f"Saved, revision {made.revision}" if made.revision else "Saved"
            show.say(f"{verb}: {made.index}", "bold green")
            show.say(f"  {made.id}  {made.tier}, score {made.score:.3f}")
    return 0


def _read(file: str, text: Sequence[str]) -> str:
    if text:
        raise Invalid("give a text or --file, not both")
    if file == "-":
        return sys.stdin.read()
    return Path(file).read_text("utf-8", "surrogateescape")


@items.command(name="list")
def list_(
    *,
    tier: Tier = "ALL",
    type: Annotated[str | None, Parameter(help="Only those of this type.")] = None,  # noqa: A002
    limit: Annotated[int | None, Parameter(help="The most to list.")] = None,
    asker: Asker = ME,
    common: Common = DEFAULT,
) -> int:
    """List items, the pinned and then the most important first. Does not count as an access."""
    with opened(common) as hf:
        who = {"user": asker.user, "agent": asker.agent}
        found = hf.items.list(tier=tier, type=type, limit=limit, **who)
        _show(
            found, common, empty="No items match. `holdfast items save TEXT --agent A` saves one."
        )
    return 0


@items.command
def load(
    *,
    agent: Agent,
    tier: Tier = "HOT",
    limit: Annotated[int | None, Parameter(help="The most to load.")] = None,
    user: User = None,
    common: Common = DEFAULT,
) -> int:
    """Load items to work with: whole, each counted as accessed."""
    with opened(common) as hf:
        found = hf.items.load(tier, agent=agent, user=user, limit=limit)
        if common.json or not found:
            _show(found, common, empty=f"No item of {agent} is {tier}.")
            return 0
        for one in found:
            show.say(f"{one.id}  {one.type}, {one.tier}", "bold")
            show.page(one.text)
    return 0


@items.command(name="show")
def show_(item_id: str, /, *, asker: Asker = ME, common: Common = DEFAULT) -> int:
    """Show an item: what it says, how warm it is and why.

    Parameters
    ----------
    item_id
        Its id, as `holdfast items list` shows it.
    """
    with opened(common) as hf:
        found = hf.items.get(item_id, user=asker.user, agent=asker.agent)
        tokens = hf.counter().count(found.text)
        if common.json:
            show.as_json({**as_dict(found), "tokens": tokens})
            return 0
        show.say(f"Item {found.id}, {found.tier}", "bold")
        told = {**as_dict(found), "tokens": f"{tokens} ({hf.counter().name})"}
        del told["id"], told["text"]
        show.table(("field", ""), [(n, show.all_of(v)) for n, v in told.items() if v is not None])
        show.page(found.text)
    return 0


@items.command
def tiers(*, agent: Agent, user: User = None, common: Common = DEFAULT) -> int:
    """Weigh an agent's items anew and move those whose score says so."""
    with opened(common) as hf:
        moved = hf.items.update_tiers(agent=agent, user=user)
        if common.json:
            show.as_json(msgspec.to_builtins(moved))
            return 0
        rows = [(tier, moved.before[tier], moved.after[tier]) for tier in TIERS]
        show.table(("tier", "before", "after"), rows)
        for one, (old, new) in moved.moved.items():
            show.say(f"  {one}  {old} → {new}")
    return 0


@items.command
def stats(*, asker: Asker = ME, common: Common = DEFAULT) -> int:
    """Say how many items and tokens there are of each tier."""
    with opened(common) as hf:
        found = hf.items.stats(user=asker.user, agent=asker.agent)
        if common.json:
            show.as_json(msgspec.to_builtins(found))
            return 0
        numbers = (found.hot_count, found.warm_count, found.cold_count)
        rows: list[tuple[object, ...]] = [
            (tier, number, found.tokens[tier]) for tier, number in zip(TIERS, numbers, strict=True)
        ]
        rows.append(("all", found.total_items, found.total_tokens))
        show.table(("tier", "items", f"tokens ({found.counted_with})"), rows)
    return 0


@items.command
def diff(
    previous: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    agent: Agent,
    tier: Tier = "ALL",
    user: User = None,
    common: Common = DEFAULT,
) -> int:
    """Say what changed since: by the SHA-256 of what each item said and says.

    Parameters
    ----------
    previous
        A file of then: what `items stats --json` or `items list --json` said, or ids and hashes.
    """
    before = _before(previous)
    with opened(common) as hf:
        found = hf.items.diff(before, agent=agent, user=user, tier=tier)
        if common.json:
            some = {name: [as_dict(one) for one in getattr(found, name)] for name in _NEW}
            rest = {"removed": found.removed, "unchanged": found.unchanged}
            show.as_json({**some, **rest})
            return 0
        rows = [(name, one.id, one.index) for name in _NEW for one in getattr(found, name)]
        rows += [("removed", one, "") for one in found.removed]
        if rows:
            show.table(("", "item", "says"), rows)
        show.say(f"{show.count(len(found.unchanged), 'item')} unchanged")
    return 0


_NEW = ("added", "changed")


def _before(file: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_bytes())
    except ValueError as exc:
        raise Invalid(f"{file} holds no JSON: {exc}") from None


@items.command
def pin(item_id: str, /, *, asker: Asker = ME, common: Common = DEFAULT) -> int:
    """Keep an item hot whatever its score is.

    Parameters
    ----------
    item_id
        Its id, as `holdfast items list` shows it.
    """
    with opened(common) as hf:
        _say(hf.items.pin(item_id, user=asker.user, agent=asker.agent), "Pinned", common)
    return 0


@items.command
def unpin(item_id: str, /, *, asker: Asker = ME, common: Common = DEFAULT) -> int:
    """Let an item be as warm as its score says.

    Parameters
    ----------
    item_id
        Its id, as `holdfast items list` shows it.
    """
    with opened(common) as hf:
        _say(hf.items.unpin(item_id, user=asker.user, agent=asker.agent), "Not pinned", common)
    return 0


def _say(one: ContextItem, verb: str, common: Common) -> None:
    if common.json:
        show.as_json(as_dict(one))
    else:
        show.say(f"{verb}: {one.index} ({one.tier}, score {one.score:.3f})")


def _show(found: Sequence[ContextItem], common: Common, *, empty: str) -> None:
    if common.json:
        show.as_json([as_dict(one) for one in found])
    elif not found:
        show.say(empty)
    else:
        columns = ("item", "tier", "score", "now", "read", "says")
        show.table(columns, [_row(one) for one in found], whole="item")


def _row(one: ContextItem) -> tuple[Text, Text, str, str, int, str]:
    """Its id alone on a line, to be copied; the score its tier was assigned by, and that of now."""
    name = Text(show.clean(f"{one.id}\n{one.type}, {one.agent}, {one.updated_at[:10]}"))
    tier = Text(one.tier + (", pinned" if one.pinned else ""), _COLOURS[one.tier])
    return name, tier, f"{one.score:.3f}", f"{one.score_now:.3f}", one.accesses, one.index

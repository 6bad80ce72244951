"""Commands about memories: remember, forget, used, list, show."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.text import Text

import holdfast
from holdfast.model.memories import Memory, as_dict

from . import show
from .program import DEFAULT, Common, app, opened
from .sessions import MINE, Whose

memory = App(name="memory", help="What is known for good.")
app.command(memory)

User = Annotated[str | None, Parameter(help="In whose name. Default: yours.")]
Kind = Literal["fact", "episode", "pattern", "workflow"]
Category = Literal["facts", "preferences", "rules", "skills", "context"]
Scope = Literal["user", "project", "system"]
State = Literal["current", "all", "superseded", "forgotten", "expired"]
Verdict = Literal["cited", "ignored", "useful", "wrong"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class What:
    """What is said about a memory."""

    kind: Annotated[Kind | None, Parameter(help="Default: fact.")] = None
    category: Annotated[Category | None, Parameter(help="Default: by its kind.")] = None
    scope: Annotated[Scope | None, Parameter(help="Who sees it. Default: the project.")] = None
    subject: Annotated[str | None, Parameter(help="What it is about.")] = None
    key: Annotated[
        str | None, Parameter(help="Which property; another value for it supersedes this one.")
    ] = None
    value: Annotated[str | None, Parameter(help="What that property is.")] = None
    applies_to: Annotated[
        str | None, Parameter(help="Where it holds: a language, a module, an environment.")
    ] = None
    title: str | None = None
    trigger: Annotated[str | None, Parameter(help="When a pattern or workflow is due.")] = None
    step: Annotated[
        tuple[str, ...], Parameter(help="A step of it; give it again.", negative=())
    ] = ()
    tag: Annotated[tuple[str, ...], Parameter(help="Give it again for more.", negative=())] = ()
    artifact: Annotated[
        tuple[str, ...],
        Parameter(help="commit:…, pr:…, adr:… or file:…; give it again.", negative=()),
    ] = ()
    source: Annotated[
        tuple[str, ...],
        Parameter(help="An event or memory it came from; give it again.", negative=()),
    ] = ()
    supersedes: Annotated[
        tuple[str, ...], Parameter(help="A memory this one replaces; give it again.", negative=())
    ] = ()
    importance: Annotated[float | None, Parameter(help="0 to 1. Default: 0.5.")] = None
    confidence: Annotated[float | None, Parameter(help="0 to 1. Default: 0.8.")] = None
    valid_from: Annotated[str | None, Parameter(help="It holds from then on.")] = None
    valid_to: Annotated[str | None, Parameter(help="And no longer from then on.")] = None
    expires_at: Annotated[str | None, Parameter(help="It is not used from then on.")] = None

    def said(self) -> dict[str, Any]:
        """What was given, by the names the verb has for it."""
        many = {"step": "steps", "tag": "tags", "artifact": "artifacts", "source": "sources"}
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {many.get(n, n): v for n, v in given.items() if v not in (None, ())}


NOTHING = What()


@app.command
def remember(
    text: str = "", /, *, what: What = NOTHING, user: User = None, common: Common = DEFAULT
) -> int:
    """Learn something for good. With a key, what the project knew before under it is superseded.

    Parameters
    ----------
    text
        What to remember; a key and a value are enough without it.
    """
    with opened(common) as hf:
        made = hf.remember(text, user=user, **what.said())
        if common.json:
            show.as_json(as_dict(made))
        else:
            verb = "Known already, surer now" if made.revision else "Remembered"
            show.say(f"{verb}: {made.summary}", "bold green")
            show.say(f"  {made.id}")
            for old in made.supersedes:
                show.say(f"  instead of {old}: {_words(hf, old, user)}")
    return 0


def _words(hf: holdfast.Holdfast, memory_id: str, user: str | None) -> str:
    return hf.get(memory_id, user=user).summary


@app.command
def forget(memory_id: str, /, *, reason: str, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """Take a memory out of use; `holdfast restore` brings it back.

    Parameters
    ----------
    memory_id
        Its id, as `holdfast memory list` shows it.
    reason
        Why; kept with the memory.
    """
    with opened(common) as hf:
        gone = hf.forget(memory_id, reason=reason, user=whose.user, agent=whose.agent)
        if common.json:
            show.as_json(as_dict(gone))
        else:
            show.say(f"Forgotten: {gone.summary}. Bring it back with: holdfast restore {gone.id}")
    return 0


@app.command
def used(
    *ids: str,
    verdict: Verdict,
    action: str | None = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Say what came of memories or events that were handed to a model.

    Parameters
    ----------
    ids
        Ids of memories or events.
    verdict
        What came of them.
    action
        What was done with them.
    """
    with opened(common) as hf:
        who = {"user": whose.user, "agent": whose.agent}
        told = hf.used(ids, verdict, action=action, **who)
        if common.json:
            show.as_json([event.event_id for event in told])
        else:
            show.say(f"Noted as {verdict}: {', '.join(dict.fromkeys(ids))}")
    return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which memories."""

    scope: Literal["session", "user", "project", "system", "all"] | None = None
    kind: Kind | None = None
    category: Category | None = None
    tag: Annotated[
        tuple[str, ...], Parameter(help="With all of these; give it again.", negative=())
    ] = ()
    key: str | None = None
    applies_to: str | None = None
    state: State = "current"
    as_of: Annotated[str | None, Parameter(help="As it was known at that time.")] = None
    limit: int | None = None


ANY = Wanted()


@memory.command(name="list")
def list_(*, wanted: Wanted = ANY, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """List memories, the newest first."""
    with opened(common) as hf:
        asked = {field.name: getattr(wanted, field.name) for field in fields(wanted)}
        tags = asked.pop("tag")
        found = hf.list(user=whose.user, agent=whose.agent, tags=tags, **asked)
        if common.json:
            show.as_json([as_dict(one) for one in found])
        elif not found:
            show.say("No such memory. `holdfast remember TEXT` makes one.")
        else:
            columns = ("memory", "says", "kind", "scope", "learned", "state")
            show.table(columns, [_listed(one) for one in found])
    return 0


def _listed(one: Memory) -> tuple[Any, ...]:
    return (
        one.id,
        one.summary,
        one.kind,
        one.scope,
        one.created_at[:10],
        _standing(one),
    )


def _standing(one: Memory) -> Text:
    if one.forgotten_at is not None:
        return Text(f"forgotten: {one.forgotten_because}", "yellow")
    if one.merged_into is not None:
        return Text(f"part of {one.merged_into}", "yellow")
    if one.superseded_by is not None:
        return Text(f"superseded by {one.superseded_by}", "yellow")
    end = min(filter(None, (one.valid_to, one.expires_at)), default=None)
    until = f" until {show.moment(end)}" if end else ""
    begin = f" from {show.moment(one.valid_from)}" if one.valid_from else ""
    return Text(f"in use{begin}{until}", "green")


@memory.command(name="show")
def show_(
    memory_id: str,
    /,
    *,
    as_of: str | None = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Show a memory: what it says at each level, where it came from, what became of it.

    Parameters
    ----------
    memory_id
        Its id, as `holdfast memory list` shows it.
    as_of
        As it was known at that time.
    """
    with opened(common) as hf:
        found = hf.get(memory_id, user=whose.user, agent=whose.agent, as_of=as_of)
        tokens = {name: hf.counter().count(getattr(found, name)) for name in _LEVELS}
        if common.json:
            show.as_json({**as_dict(found), "tokens": tokens})
        else:
            _show(found, tokens, hf.counter().name)
    return 0


_LEVELS = ("text", "summary", "compressed", "index")


def _show(found: Memory, tokens: dict[str, int], counter: str) -> None:
    show.say(f"Memory {found.id}, {_standing(found)}", "bold")
    rows = [(name, tokens[name], getattr(found, name)) for name in _LEVELS]
    show.table(("level", f"tokens ({counter})", "words"), rows)
    apart = (*_LEVELS, "id", "usage", "history", "artifacts")
    told = [(n, show.one_line(v)) for n, v in as_dict(found).items() if n not in apart]
    told.append(("artifacts", " ".join(f"{a.type}:{a.ref}" for a in found.artifacts)))
    told.append(("usage", _counts(found)))
    show.table(("field", ""), [(n, v) for n, v in told if v not in ("", "null", "[]")])
    show.table(
        ("event", "at", "what", "trust", "why", "set"),
        [
            (c.event_seq, show.moment(c.at), c.what, c.trust, c.why, show.one_line(c.set))
            for c in found.history
        ],
        "What made it so",
    )


def _counts(found: Memory) -> str:
    usage = found.usage
    names = ("retrieved", "cited", "ignored", "useful", "wrong")
    said = [f"{name} {getattr(usage, name)}" for name in names if getattr(usage, name)]
    return ", ".join(said) or "never used"

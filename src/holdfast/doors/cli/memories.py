"""Commands about memories: remember, forget, used, list, show."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.text import Text

import holdfast
from holdfast.app.memories import now
from holdfast.model.memories import Change, Memory, as_dict, state
from holdfast.record.limits import moment
from holdfast.settings import agent_at_work

from . import show
from .program import DEFAULT, ME, PLAIN, Asker, Common, app, opened

memory = App(name="memory", help="What is known for good.", default_parameter=PLAIN)
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
    *text: str,
    what: What = NOTHING,
    user: User = None,
    agent: Annotated[
        str | None,
        Parameter(
            help="It is this agent's word, not yours. Default: the agent whose shell this is."
        ),
    ] = None,
    common: Common = DEFAULT,
) -> int:
    """Learn something for good. With a key, what the project knew before under it is superseded.

    Parameters
    ----------
    text
        What to remember, quoted or not; a key and a value are enough without it.
    """
    with opened(common) as hf:
        made = hf.remember(" ".join(text), user=user, agent=agent or agent_at_work(), **what.said())
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
def forget(memory_id: str, /, *, reason: str, asker: Asker = ME, common: Common = DEFAULT) -> int:
    """Take a memory out of use; `holdfast restore` brings it back.

    Parameters
    ----------
    memory_id
        Its id, as `holdfast memory list` shows it.
    reason
        Why; kept with the memory.
    """
    with opened(common) as hf:
        who = {"user": asker.user, "agent": asker.agent}
        before = hf.get(memory_id, **who)
        gone = hf.forget(memory_id, reason=reason, **who)
        if common.json:
            show.as_json(as_dict(gone))
        else:
            _say_forgotten(gone, already=before.forgotten_at is not None)
    return 0


def _say_forgotten(gone: Memory, *, already: bool) -> None:
    if already:
        since = show.moment(gone.forgotten_at or "")
        show.say(f"Forgotten already, since {since}: {gone.forgotten_because}", "yellow")
        show.say("  That reason stays; to give another, restore it first and forget it again.")
    else:
        show.say(f"Forgotten: {gone.summary}")
    show.say(f"  Bring it back with: holdfast restore {gone.id}")


@app.command
def used(
    *ids: str,
    verdict: Verdict,
    action: str | None = None,
    asker: Asker = ME,
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
        who = {"user": asker.user, "agent": asker.agent}
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

    scope: Annotated[
        Literal["session", "user", "project", "system", "all"] | None,
        Parameter(help="Only those kept for one session, for you, for the project, for everybody."),
    ] = None
    kind: Annotated[Kind | None, Parameter(help="Only those of this kind.")] = None
    category: Annotated[Category | None, Parameter(help="Only those of this category.")] = None
    tag: Annotated[
        tuple[str, ...], Parameter(help="With all of these; give it again.", negative=())
    ] = ()
    key: Annotated[str | None, Parameter(help="Only those about this property.")] = None
    applies_to: Annotated[str | None, Parameter(help="Only those that hold there.")] = None
    state: Annotated[State, Parameter(help="In use, or out of it.")] = "current"
    as_of: Annotated[str | None, Parameter(help="As it was known at that time.")] = None
    limit: Annotated[int | None, Parameter(help="The most to list.")] = None

    def given(self) -> dict[str, Any]:
        """What narrows the list, by the names of the options."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }


ANY = Wanted()


@memory.command(name="list")
def list_(*, wanted: Wanted = ANY, asker: Asker = ME, common: Common = DEFAULT) -> int:
    """List memories, the newest first."""
    with opened(common) as hf:
        asked = wanted.given()
        who = {"user": asker.user, "agent": asker.agent}
        found = hf.list(**who, tags=asked.pop("tag", ()), **asked)
        if common.json:
            show.as_json([as_dict(one) for one in found])
        elif not found:
            _say_none(wanted, asker, any_=bool(hf.list(**who, state="all", limit=1)))
        else:
            at = _at(hf, wanted.as_of)
            show.table(("memory", "says"), [_listed(one, at) for one in found])
    return 0


def _say_none(wanted: Wanted, asker: Asker, *, any_: bool) -> None:
    """That nothing is listed, and what would list something."""
    given = {**wanted.given(), "agent": asker.agent, "user": asker.user}
    given.pop("limit", None)
    said = " ".join(
        f"--{name.replace('_', '-')} {one}"
        for name, value in given.items()
        if value is not None
        for one in (value if isinstance(value, tuple) else (value,))
    )
    if not any_:
        show.say("No memories yet. `holdfast remember TEXT` makes one.")
        return
    show.say(f"No memories match {said}." if said else "No memories match: none is in use.")
    if wanted.state == "current":
        show.say("`--state all` looks among those out of use too.")


def _listed(one: Memory, at: str) -> tuple[Text, Text]:
    """Its id alone on a line, to be copied; what it says, and how it stands."""
    about = f"{one.id}\n{one.kind}, {one.scope}, {one.created_at[:10]}"
    says = Text.assemble(show.clean(one.summary), "\n", _standing(one, at))
    return Text(show.clean(about)), says


def _standing(one: Memory, at: str) -> Text:
    """How it stands at this time, in words and in a colour."""
    end = min(filter(None, (one.valid_to, one.expires_at)), default="")
    until = f" until {show.moment(end)}" if end else ""
    begin = f" from {show.moment(one.valid_from)}" if one.valid_from else ""
    past = {
        "forgotten": f"forgotten: {one.forgotten_because}",
        "merged": f"part of {one.merged_into}",
        "superseded": f"superseded by {one.superseded_by}",
        "expired": f"ran out {show.moment(end)}",
        "coming": f"not in use yet:{begin}{until}",
    }
    stands = state(one, at)
    if stands in past:
        return Text(show.clean(past[stands]), "yellow")
    return Text(f"in use{begin}{until}", "green")


def _at(hf: holdfast.Holdfast, as_of: str | None) -> str:
    """The time that is asked about."""
    return now(hf) if as_of is None else moment(as_of)


@memory.command(name="show")
def show_(
    memory_id: str,
    /,
    *,
    as_of: str | None = None,
    asker: Asker = ME,
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
        found = hf.get(memory_id, user=asker.user, agent=asker.agent, as_of=as_of)
        tokens = {name: hf.counter().count(getattr(found, name)) for name in _LEVELS}
        if common.json:
            show.as_json({**as_dict(found), "tokens": tokens})
        else:
            show.say(f"Memory {found.id}, {_standing(found, _at(hf, as_of))}", "bold")
            _show(found, tokens, hf.counter().name)
    return 0


_LEVELS = ("text", "summary", "compressed", "index")
#: of a change, what its time and its reason say already
_TOLD_BESIDE = ("updated_at", "superseded_at", "forgotten_at", "forgotten_because")


def _show(found: Memory, tokens: dict[str, int], counter: str) -> None:
    rows = [(name, tokens[name], getattr(found, name)) for name in _LEVELS]
    show.table(("level", f"tokens ({counter})", "words"), rows)
    apart = (*_LEVELS, "id", "usage", "history")
    told = [(n, show.all_of(v)) for n, v in as_dict(found).items() if n not in apart]
    told.append(("usage", _counts(found)))
    show.table(("field", ""), [(n, v) for n, v in told if v])
    show.table(
        ("event", "at", "what", "trust", "why", "set"),
        [
            (c.event_seq, show.moment(c.at), c.what, c.trust, c.why, _set_by(c, first=not number))
            for number, c in enumerate(found.history)
        ],
        "What made it so",
    )


def _set_by(change: Change, *, first: bool) -> str:
    """What a change set, a field on each line, without what the other columns say.

    The first one tells what was other then; what was not there yet is not worth a line.
    """
    return "\n".join(
        f"{name}: {show.in_short(value) or 'nothing'}"
        for name, value in change.set.items()
        if name not in _TOLD_BESIDE
        and not (name in _LEVELS[1:] and "text" in change.set)
        and (show.in_short(value) or not first)
    )


def _counts(found: Memory) -> str:
    usage = found.usage
    names = ("retrieved", "cited", "ignored", "useful", "wrong")
    said = [f"{name} {getattr(usage, name)}" for name in names if getattr(usage, name)]
    return ", ".join(said) or "never used"

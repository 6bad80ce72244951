"""`holdfast manager`: the commands of a context manager, for people and for cron."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

from cyclopts import App, Parameter

import holdfast
from holdfast.app import managing
from holdfast.app import reset as reset_app
from holdfast.errors import NotFound

from . import show
from .cold import Session, Some, plain, recovered, show_chunks, show_compaction
from .commands import show_set_aside
from .program import DEFAULT, PLAIN, Common, app, followed
from .sessions import MINE, Whose

manager = App(name="manager", help="The window of a session, kept small.", default_parameter=PLAIN)
app.command(manager)
storage = App(name="cold-storage", help="What left windows.", default_parameter=PLAIN)
manager.command(storage)

Window = Annotated[
    int | None, Parameter(help="The whole window, in tokens. Default: that of its last context.")
]
Model = Annotated[str, Parameter(help="Whose window it is instead.")]
#: what `health` ends with when the window is fuller than was asked about
FULL = 10


@manager.command
def status(
    *,
    session: Session = None,
    window: Window = None,
    model: Model = "",
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """How full the window of a session is, what is cold, the last compaction."""
    return _health(session, (window, model), whose, common)


@manager.command
def health(
    *,
    notify_if_pct: Annotated[
        str | None,
        Parameter(
            help="End with 10 when so much of the window is used: 0.5, 50%, or '> 0.5' in quotes. "
            "With 0 where there is no session yet."
        ),
    ] = None,
    session: Session = None,
    window: Window = None,
    model: Model = "",
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """How full the window of a session is, with an exit code for cron.

    In a crontab: holdfast manager health --notify-if-pct 0.5 || echo "The context is half full."
    """
    return _health(session, (window, model), whose, common, notify_if_pct)


def _health(
    session: str | None,
    measure: tuple[int | None, str],
    whose: Whose,
    common: Common,
    notify: str | None = None,
) -> int:
    most = None if notify is None else managing.share(notify)
    with _meant(common) as hf:
        (window, model), user, agent = measure, whose.user, whose.agent
        found = None
        if most is None or session is not None or hf.sessions(agent=agent, user=user):
            found = managing.health(hf, session, user, agent, window=window, model=model)
        if common.json:
            show.as_json(found)
        elif found is None:
            ways = managing.how(common.home)
            show.say(f"There is no session yet, so nothing is full{ways and '; '}{ways}.")
        else:
            show.table(("window", ""), _rows(found))
            show.say(f"Logs: {hf.activity.folder}")
    return FULL if found is not None and most is not None and found.pct_used >= most else 0


def _rows(found: managing.Health) -> list[tuple[str, str]]:
    """Its figures, the last compaction in words."""
    last = found.last_compaction
    said = {**dict(plain(found)), "last compaction": "none"}
    if last is not None:
        verb = "went back to a checkpoint" if last["event"] == "context_restored" else "compacted"
        said["last compaction"] = (
            f"{show.moment(last['timestamp'])}, {verb}: {last['tokens_before']:,} tokens became "
            f"{last['tokens_after']:,}, {last['chunks_dropped']:,} chunks dropped, "
            f"{last['chunks_summarized']:,} summarised ({last['trigger']})"
        )
    return list(said.items())


@contextmanager
def _meant(common: Common) -> Iterator[holdfast.Holdfast]:
    """The project that is meant, which may be the one that a ContextManager keeps here."""
    home, project = managing.meant(common.home, common.project)
    found = replace(common, home=home, project=project)
    with _pointing(found), followed(found) as hf:
        yield hf


@contextmanager
def _pointing(common: Common) -> Iterator[None]:
    """What is not found here may lie where a ContextManager keeps it."""
    try:
        yield
    except NotFound as exc:
        ways = "" if common.project else managing.how(common.home)
        raise NotFound(f"{exc}; {ways}" if ways else str(exc)) from None


@contextmanager
def _in_words_of_the_manager() -> Iterator[None]:
    """Advice names the commands that find what is meant here."""
    try:
        yield
    except NotFound as exc:
        exc.args = (str(exc).replace("holdfast cold list", "holdfast manager cold-storage list"),)
        raise


@manager.command
def drops(
    *,
    session: Annotated[str | None, Parameter(help="Only of this session.")] = None,
    limit: Some = 100,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """What compactions dropped, the last first."""
    with _meant(common) as hf:
        who = whose.user, whose.agent
        show_chunks(managing.left(hf, session, *who, expired=True, limit=limit), common)
    return 0


@manager.command
def compact(
    *,
    now: Annotated[
        bool, Parameter(help="It is always done now; said by other tools.", negative=())
    ] = False,
    prompt: Annotated[str, Parameter(help="What is asked now: what is about it stays.")] = "",
    window: Annotated[
        int | None,
        Parameter(help="The whole window, in tokens. Default: the largest of its latest contexts."),
    ] = None,
    session: Session = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Make room in the window of a session."""
    del now
    with _meant(common) as hf:
        how = {"prompt": prompt, "window": window}
        show_compaction(managing.compact(hf, session, whose.user, whose.agent, **how), common)
    return 0


@storage.command(name="list")
def list_(*, limit: Some = 100, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """What is cold, what was dropped last first."""
    with _meant(common) as hf:
        show_chunks(managing.left(hf, None, whose.user, whose.agent, limit=limit), common)
    return 0


@manager.command(name="recover")
def recover_(*, chunk_id: str, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """Bring back what left, verbatim.

    Parameters
    ----------
    chunk_id
        Its id, as `holdfast manager cold-storage list` shows it.
    """
    with _in_words_of_the_manager(), _meant(common) as hf:
        recovered(hf, chunk_id, "", whose, common)
    return 0


@manager.command
def reset(*, force: bool = False, common: Common = DEFAULT) -> int:
    """Set everything this project remembers aside, its log included, and start anew.

    Parameters
    ----------
    force
        Yes, I mean it.
    """
    with _pointing(common):
        show_set_aside(reset_app.reset(common.home, common.project, force=force), common)
    return 0

"""`holdfast manager`: the commands of a context manager, for people and for cron."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from holdfast.app import managing
from holdfast.app import reset as reset_app

from . import show
from .cold import Session, Some, plain, recover, show_chunks, show_compaction
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
        str | None, Parameter(help="End with 10 when so much of the window is used: 0.5.")
    ] = None,
    session: Session = None,
    window: Window = None,
    model: Model = "",
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """The same, with an exit code for cron."""
    return _health(session, (window, model), whose, common, notify_if_pct)


def _health(
    session: str | None,
    measure: tuple[int | None, str],
    whose: Whose,
    common: Common,
    notify: str | None = None,
) -> int:
    most = None if notify is None else managing.share(notify)
    with followed(common) as hf:
        window, model = measure
        found = managing.health(hf, session, whose.user, whose.agent, window=window, model=model)
        if common.json:
            show.as_json(found)
        else:
            show.table(("window", ""), plain(found))
            show.say(f"Logs: {hf.activity.folder}")
    return FULL if most is not None and found.pct_used >= most else 0


@manager.command
def drops(
    *,
    session: Annotated[str | None, Parameter(help="Only of this session.")] = None,
    limit: Some = 100,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """What compactions dropped, the last first."""
    with followed(common) as hf:
        found = hf.cold.list(session, agent=whose.agent, user=whose.user, expired=True, limit=limit)
        show_chunks(found, common)
    return 0


@manager.command
def compact(
    *,
    now: Annotated[
        bool, Parameter(help="It is always done now; said by other tools.", negative=())
    ] = False,
    session: Session = None,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Make room in the window of a session."""
    del now
    with followed(common) as hf:
        show_compaction(managing.compact(hf, session, whose.user, whose.agent), common)
    return 0


@storage.command(name="list")
def list_(*, limit: Some = 100, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """What is cold, what was dropped last first."""
    with followed(common) as hf:
        show_chunks(hf.cold.list(agent=whose.agent, user=whose.user, limit=limit), common)
    return 0


@manager.command(name="recover")
def recover_(*, chunk_id: str, whose: Whose = MINE, common: Common = DEFAULT) -> int:
    """Bring back what left, verbatim.

    Parameters
    ----------
    chunk_id
        Its id, as `holdfast manager cold-storage list` shows it.
    """
    return recover(chunk_id, whose=whose, common=common)


@manager.command
def reset(*, force: bool = False, common: Common = DEFAULT) -> int:
    """Set everything this project remembers aside, its log included, and start anew.

    Parameters
    ----------
    force
        Yes, I mean it.
    """
    aside = reset_app.reset(common.home, common.project, force=force)
    if common.json:
        show.as_json({"set_aside": aside})
    else:
        show.say(f"The old data was set aside in {aside}; remove it when you are sure.")
    return 0

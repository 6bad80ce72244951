"""Composition: which engine stands behind which port. The only place that names one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from math import isfinite
from pathlib import Path

from holdfast import settings as settings_file
from holdfast.capture.chain import Chain, load_key
from holdfast.capture.disk import Disk
from holdfast.capture.layout import new_meta
from holdfast.capture.origin import person
from holdfast.capture.place import CONTEXTS, claim
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Limits, Shaper
from holdfast.capture.stamp import timestamp
from holdfast.engines.clock import SystemClock, UlidIds
from holdfast.engines.completers.choose import completer
from holdfast.engines.files import FileBlobs, FileLog, FileSnapshots
from holdfast.engines.files import meta as project_meta
from holdfast.engines.files.trouble import translated
from holdfast.engines.reference.views import MemoryViews
from holdfast.engines.sqlite import Index, SqliteIds, SqliteViews
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.errors import Conflict, Denied, Invalid, NotFound
from holdfast.model.events import Damage
from holdfast.model.projects import Project, folder_parts
from holdfast.model.settings import Integrity, Settings
from holdfast.ports.clock import Clock
from holdfast.record.recorder import Recorder
from holdfast.views.every import shape
from holdfast.views.runner import Runner

from . import hooking, managed, sessions
from . import project as projects
from .completing import pause
from .holdfast import DamageWarning, Holdfast, OldFormatWarning
from .library import library


def open(  # noqa: A001  (the public name)
    home: str | os.PathLike[str] | None = None,
    *,
    project: str | None = None,
    user: str | None = None,
    now: Clock | Callable[[], int] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Holdfast:
    """Open a project's memory: the one around `path` (here, by default) or the one named.

    `home` is where everything is kept; `user` is the principal, the person at this machine unless
    said otherwise; `now` brings another clock, in milliseconds since 1970.
    """
    found, chosen = locate(home, project, path)
    principal = person() if user is None else sessions.one("user", user)
    hooking.refresh(chosen, found)
    return _opened(found, chosen, _clock(now), principal)


def _opened(
    found: Project, chosen: Settings, clock: Clock, user: str, *, beside: bool = False
) -> Holdfast:
    """A project of this home, and the reserved ones beside it when they are needed."""

    def reserved(project_id: str, make: bool) -> Holdfast | None:
        if not make and not _kept(chosen, project_id):
            return None
        return _opened(_project(project_id, Path()), chosen, clock, user, beside=True)

    folder = project_folder(chosen, found.id)
    with translated("opening"):
        state = _ensure(folder, found, clock, chosen.log.integrity)
        if found.root and os.access(folder, os.W_OK):
            claim(chosen.home, found.root, folder, Disk())
    index = Index(folder, project_id=found.id, busy_ms=chosen.views.busy_ms)
    chain = _chain(chosen, found.id, state)
    log = FileLog(folder, chosen.log, chain=chain, ids=SqliteIds(index))
    views = _views(chosen, found.id, log, index)
    return Holdfast(
        project=found,
        settings=managed.kept(folder, chosen),
        folder=folder,
        log=log,
        blobs=log.blobs,
        recorder=_recorder(chosen, log, clock),
        views=views,
        library=library(chosen, found.id, log, index, views),
        counters=counter,
        user=user,
        clock=clock,
        reserved=reserved,
        completer=partial(completer, chosen.complete, chosen.llm_key, sleep=pause),
        notices=[*_old_formats(chosen, folder, beside=beside), *_nothing_readable(log)],
    )


def opened_in(
    found: Project, chosen: Settings, now: Clock | Callable[[], int], user: str
) -> Holdfast:
    """A project under settings that are known already."""
    return _opened(found, chosen, _clock(now), user)


def locate(
    home: str | os.PathLike[str] | None = None,
    project: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> tuple[Project, Settings]:
    """Which project is meant, and the settings that hold for it."""
    found = _project(project, Path(path or "."))
    return found, settings_file.load(home, Path(found.root) if found.root else None)


def must_exist(home: str | None = None, project: str | None = None) -> None:
    """NotFound for a project that holds nothing here: a misspelt id must not look sound."""
    found, chosen = locate(home, project)
    if not os.path.isdir(project_folder(chosen, found.id)):
        raise NotFound(f"nothing is kept for {found.id} in {chosen.home}")


def project_folder(chosen: Settings, project_id: str) -> str:
    """Where a project's files lie."""
    return os.path.join(chosen.home, CONTEXTS, *folder_parts(project_id))


def _kept(chosen: Settings, project_id: str) -> bool:
    """Is something kept for this project? A name that no folder can have has none."""
    try:
        return os.path.isdir(project_folder(chosen, project_id))
    except Invalid:
        return False


def _project(project_id: str | None, start: Path) -> Project:
    if project_id is None:
        return projects.find(start)
    if not isinstance(project_id, str):
        raise Invalid(f"a project is named by its id, not by {project_id!r}")
    folder_parts(project_id)
    found_by = "reserved" if project_id.startswith("~") else "argument"
    return Project(id=project_id, root="", found_by=found_by)


def _clock(now: Clock | Callable[[], int] | None) -> Clock:
    if now is None:
        return SystemClock()
    if hasattr(now, "now_ms"):
        return now
    if not callable(now):
        raise Invalid(f"now is a clock, or a function that gives milliseconds, not {now!r}")
    return _Called(now)


class _Called:
    """A plain function as a Clock."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now

    def now_ms(self) -> int:
        said = self._now()
        if isinstance(said, bool) or not isinstance(said, int | float) or not isfinite(said):
            raise Invalid(f"the clock gives milliseconds since 1970 as a number, not {said!r}")
        return int(said)


def _ensure(folder: str, project: Project, clock: Clock, mode: Integrity) -> dict[str, object]:
    """The project's folder with its meta.json; a read-only home is opened as it is."""
    disk = Disk()
    state = project_meta.load(disk, folder)
    if state:
        return state
    state = new_meta(project.id, project.root, timestamp(clock.now_ms()), mode)
    try:
        return project_meta.begin(disk, folder, state)
    except PermissionError as exc:
        raise Denied(f"{folder} cannot be made: {exc}; set HOLDFAST_HOME to your own") from exc


def _chain(chosen: Settings, project_id: str, state: dict[str, object]) -> Chain | None:
    disk = Disk()
    place = chain_files(chosen, project_id)
    if state.get("integrity_mode") != "chained" and not os.path.exists(place + ".chain.key"):
        return None  # a key that is there counts more than meta.json, which anybody may edit
    with translated("reading the chain's key"):
        return Chain(load_key(place + ".chain.key", disk), place + ".anchors", disk)


def chain_files(chosen: Settings, project_id: str) -> str:
    """Where a project's chain key and anchors lie, without their endings."""
    return os.path.join(chosen.keys, "-".join(folder_parts(project_id)))


def _recorder(chosen: Settings, log: FileLog, clock: Clock) -> Recorder:
    with translated("reading the fingerprint key"):
        key = load_key(os.path.join(chosen.keys, "fingerprint.key"), Disk())
    redactor = Redactor(key, chosen.record.deny_paths)
    limits = Limits(
        text_chars=chosen.record.text_chars,
        payload_bytes=chosen.record.payload_bytes,
        edge_chars=chosen.record.edge_chars,
        depth=chosen.record.depth,
    )
    return Recorder(
        log,
        redactor=redactor,
        shaper=Shaper(redactor, FileBlobs(log.folder).keep, limits),
        clock=clock,
        ids=UlidIds(),
        durable=chosen.log.mode == "durable",
    )


def _views(chosen: Settings, project_id: str, log: FileLog, index: Index) -> Runner:
    def damaged(met: list[Damage]) -> None:
        said, *_ = [log.note_damage(damage) for damage in met]
        more = f" and {len(met) - 1} more" if len(met) > 1 else ""
        warnings.warn(f"{said}{more}; see `holdfast verify`", DamageWarning, stacklevel=2)

    return Runner(
        log,
        SqliteViews(
            index,
            shape=shape(),
            generation=lambda: project_meta.generation(log.disk, log.folder),
        ),
        FileSnapshots(log.folder),
        spare=MemoryViews,
        project_id=project_id,
        settings=chosen.views,
        damage=damaged,
    )


def _nothing_readable(log: FileLog) -> list[str]:
    """A log of which nothing can be read: said loudly, its bytes left where they are."""
    if log.head().event_seq or not log.size():
        return []
    said = (
        f"nothing in {log.folder} can be read, so this project starts afresh; the old bytes are kept "
        "where they are. Run `holdfast verify`"
    )
    warnings.warn(said, DamageWarning, stacklevel=4)
    return [said]


def _old_formats(chosen: Settings, folder: str, *, beside: bool) -> list[str]:
    """A format that is not read any more; of the home it was said when the project was opened."""
    old = [os.path.join(folder, "context.json")]
    old += [] if beside else [os.path.join(chosen.home, "contexts")]
    said = [
        f"{path} holds a context of format 1. Holdfast keeps format 2 and does not read it; "
        "it is left untouched."
        for path in old
        if os.path.exists(path)
    ]
    for notice in said:
        warnings.warn(notice, OldFormatWarning, stacklevel=4)
    return said


def init(
    path: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = None,
    *,
    chained: bool = False,
) -> Holdfast:
    """Give a folder its identity and its place; doing it again changes nothing."""
    found = projects.mark(Path(path))
    if chained:
        _chain_from_the_start(project_folder(locate(home, path=path)[1], found.id), found)
    hf = open(home, path=path)
    hooking.note(hf.settings, hf.project, for_all=True)
    return hf


def _chain_from_the_start(folder: str, project: Project) -> None:
    disk = Disk()
    with translated("making the project"):
        state = project_meta.load(disk, folder) or _ensure(
            folder, project, SystemClock(), "chained"
        )
        if state.get("integrity_mode") == "chained":
            return
        if FileLog(folder).head().event_seq:
            raise Conflict(
                "this log already holds events without a chain; a chain starts with the first"
            )
        project_meta.save(disk, folder, {**state, "integrity_mode": "chained"})

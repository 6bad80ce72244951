"""What is wrong, and what to do about it. Reads only; says nothing it did not look at."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from holdfast import settings as settings_file
from holdfast.capture import place
from holdfast.capture.disk import Disk
from holdfast.capture.layout import LOCK, QUARANTINE, SNAPSHOT, SNAPSHOT_BEFORE
from holdfast.capture.lock import Busy, Lock
from holdfast.capture.spool import spooled
from holdfast.engines.embedders.choose import embedders
from holdfast.engines.embedders.remote import Remote
from holdfast.engines.files import FileLog, FileSnapshots
from holdfast.engines.files import meta as project_meta
from holdfast.engines.sqlite.inspect import inspect
from holdfast.errors import HoldfastError, NotFound
from holdfast.model.events import Damage, Event
from holdfast.model.settings import Settings
from holdfast.views import snapshot
from holdfast.views.every import VIEWS

from . import hooking, installing, residents, unclaimed
from . import project as projects
from .open import chain_files, locate, project_folder
from .open import open as open_project

_LITTLE_ROOM = 256 << 20
_FAR_OFF = 86_400
_VERIFY = "run `holdfast verify` and look at the disk's health"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    check: str
    good: bool
    found: str
    #: what to do; empty when it is good
    remedy: str = ""


def examine(
    home: str | None = None, project: str | None = None, path: str | None = None
) -> list[Finding]:
    """Look at everything that must be right for Holdfast to work here."""
    findings: list[Finding] = []
    project_id, root = project, None
    if project is None:
        try:
            found = projects.find(Path(path or "."))
            project_id, root = found.id, Path(found.root)
            findings.append(_good("project", f"{found.id}, known by its {found.found_by}"))
        except HoldfastError as exc:
            findings.append(_bad("project", str(exc), "holdfast init"))
    try:
        chosen = settings_file.load(home, root)
    except HoldfastError as exc:
        return [*findings, _bad("settings", str(exc), "correct that file")]
    findings.append(_good("settings", "readable"))
    findings += _embedders(chosen)
    findings += _home(chosen)
    if project_id is not None:
        findings += _project_checks(chosen, project_id)
    return [*findings, *_hooks(chosen)]


def clean(
    home: str | None = None, project: str | None = None, path: str | None = None
) -> list[str]:
    """Clear away what hooks left over in this home, and take in what waits; what was done.

    In a folder that is in no project the home is cleared all the same.
    """
    done = []
    for one in residents.everywhere(settings_file.place(home)):
        if one.alive and not one.said and not one.starting and residents.stop(one.folder):
            done.append(f"ended a process that did not answer, of {one.folder}")
        done += [f"removed {path}" for path in residents.tidy(one.folder)]
    try:
        found, chosen = locate(home, project, path)
    except NotFound:
        return done
    folder = project_folder(chosen, found.id)
    if os.path.isdir(folder):
        waiting = len(spooled(Disk(), folder))
        with open_project(home, project=project, path=path) as hf:
            hf.record([])
        done += [f"took in {waiting} events that waited"] if waiting else []
    return done


def _hooks(chosen: Settings) -> Iterator[Finding]:
    """What hosts' hooks need, and what they left."""
    cache = hooking.cache_file(chosen)
    if os.path.exists(cache):
        known = place.read(cache, Disk())
        python = known.get("python")
        if not known:
            yield _bad("hooks", f"{cache} cannot be read", "run `holdfast init` again")
        elif not isinstance(python, str) or not os.path.isfile(python):
            yield _bad(
                "hooks", f"{python} is gone", "run `holdfast init` again, then install again"
            )
        else:
            yield _good("hooks", f"{cache} is there")
    for of in residents.everywhere(chosen.home):
        if of.said:
            told = f"process {of.said.get('pid')} since {of.said.get('seconds')} s"
            yield _good("resident", f"{told}, {of.said.get('answered')} questions answered")
        elif of.starting:
            yield _good("resident", f"one is starting in {of.folder}")
        elif of.alive:
            number = residents.process(of.folder) or "?"
            yield _bad("resident", f"process {number} does not answer", "holdfast doctor --clean")
        elif of.left_over:
            yield _bad("resident", f"one died in {of.folder}", "holdfast doctor --clean")
    for root, count in residents.waiting(chosen.home):
        yield _bad("waiting", f"{count} events of {root}", unclaimed.remedy(root))
    for one in installing.examine(chosen.home):
        yield Finding(check=one.check, good=one.good, found=one.found, remedy=one.remedy)


def _good(check: str, found: str) -> Finding:
    return Finding(check=check, good=True, found=found)


def _bad(check: str, found: str, remedy: str) -> Finding:
    return Finding(check=check, good=False, found=found, remedy=remedy)


def _embedders(chosen: Settings) -> Iterator[Finding]:
    """What recall would search by, beside words; nothing is sent anywhere to find out."""
    try:
        found = embedders(chosen.embed, chosen.embed_key)
        local = [one for one in found if not isinstance(one, Remote)]
        for one in local:
            one.query("ready", lambda _: 0.0)
    except HoldfastError as exc:
        yield _bad("embedder", str(exc), "until then recall goes by words alone")
        return
    named = [one.name for one in local] + [chosen.embed.url] * (len(found) - len(local))
    yield _good("embedder", ", ".join(named) or "none: recall goes by words alone")


def _home(chosen: Settings) -> Iterator[Finding]:
    home = chosen.home
    if not os.path.isdir(home):
        yield _good("home", f"{home} will be made by the first recording")
        return
    mode = stat.S_IMODE(os.stat(home).st_mode)
    if not os.access(home, os.W_OK):
        yield _bad("home", f"{home} cannot be written", "set HOLDFAST_HOME to a folder you own")
    elif mode & 0o077:
        yield _bad("home", f"{home} is open to others ({mode:o})", f"chmod 700 {home}")
    else:
        yield _good("home", f"{home}, private")
    free = shutil.disk_usage(home).free
    room = f"{free / (1 << 30):.1f} GiB free"
    if free < _LITTLE_ROOM:
        yield _bad("room", room, "free some space; a full disk stops recording, never loses")
    else:
        yield _good("room", room)
    if os.path.exists(os.path.join(home, "contexts")):
        yield _bad(
            "format 1",
            f"{home}/contexts is of an older format, which is not read",
            "keep it for reference or move it away; Holdfast leaves it untouched",
        )


def _project_checks(chosen: Settings, project_id: str) -> Iterator[Finding]:
    folder = project_folder(chosen, project_id)
    if not os.path.isdir(folder):
        yield _good("log", "nothing recorded yet")
        return
    try:
        state = project_meta.load(Disk(), folder)
    except HoldfastError as exc:
        yield _bad("format", str(exc), "see the message")
        return
    if not state:
        yield _bad("meta.json", "missing or unreadable", "open the project once; it is made anew")
    checks: list[Callable[[str], Iterator[Finding]]] = [_modes, _lock, _tail, _spool, _quarantine]
    for check in checks:
        yield from check(folder)
    yield from _derived(folder, project_id)
    if state.get("integrity_mode") == "chained":
        key = chain_files(chosen, project_id) + ".chain.key"
        if not os.path.exists(key):
            yield _bad("chain key", f"{key} is missing", "restore it; without it edits are unseen")


def _modes(folder: str) -> Iterator[Finding]:
    for path in (os.path.join(folder, name) for name in os.listdir(folder)):
        if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            yield _bad("privacy", f"{path} is open to others", f"chmod -R go= {folder}")
            return
    yield _good("privacy", "files are private")


def _lock(folder: str) -> Iterator[Finding]:
    path = os.path.join(folder, LOCK)
    if not os.path.exists(path):
        return
    try:
        lock = Lock(path, Disk())
    except OSError as exc:
        yield _bad("lock", str(exc), "check who owns the home folder")
        return
    try:
        lock.acquire(1.0)
        lock.release()
        yield _good("lock", "free")
    except Busy:
        yield _bad("lock", "held for over a second", f"see who: fuser -v {path}")
    finally:
        lock.close()


def _tail(folder: str) -> Iterator[Finding]:
    log = FileLog(folder)
    head = log.head()
    newest = None
    for found in log.read(max(0, head.event_seq - 1)):
        if isinstance(found, Damage):
            torn = found.reason == "torn_tail"
            remedy = "record anything: the torn bytes are kept and cut off" if torn else _VERIFY
            yield _bad("tail" if torn else "damage", str(found), remedy)
        elif isinstance(found, Event):
            newest = found
    yield _good("log", f"{head.event_seq} events, generation {head.generation}")
    if newest is not None:
        try:
            at = datetime.fromisoformat(newest.timestamp)
        except ValueError:
            return
        ahead = (at - datetime.now(UTC)).total_seconds()
        if ahead > _FAR_OFF:
            yield _bad("clock", f"the newest event is from {newest.timestamp}", "set the clock")


def _spool(folder: str) -> Iterator[Finding]:
    waiting = len(spooled(Disk(), folder))
    if waiting:
        yield _bad("spool", f"{waiting} events wait", "record anything: it is drained first")
    else:
        yield _good("spool", "empty")


def _derived(folder: str, project_id: str) -> Iterator[Finding]:
    """The index and the snapshots: never needed, so what is wrong with them costs time only."""
    at, problem = inspect(folder, project_id)
    if problem:
        yield _bad("index", f"index.db: {problem}", "read anything, or run `holdfast rebuild`")
    elif at is None:
        yield _good("index", "made when it is first needed")
    else:
        behind = FileLog(folder).head().event_seq - at.event_seq
        yield _good("index", f"through event {at.event_seq}, {behind} behind the log")
    for number, data in enumerate(FileSnapshots(folder).load()):
        found = snapshot.read(data, project_id, VIEWS)
        name = (SNAPSHOT, SNAPSHOT_BEFORE)[number]
        if isinstance(found, str):
            yield _bad(
                "snapshot", f"{name}: {found}", "it is replaced at the next gate or session end"
            )
        else:
            yield _good("snapshot", f"{name}: through event {found.position.event_seq}")


def _quarantine(folder: str) -> Iterator[Finding]:
    place = os.path.join(folder, QUARANTINE)
    kept = len(os.listdir(place)) if os.path.isdir(place) else 0
    if kept:
        yield _bad(
            "quarantine",
            f"{kept} damaged stretches are kept in {place}",
            f"{_VERIFY}; remove the copies when you have looked at them",
        )
    else:
        yield _good("quarantine", "empty")

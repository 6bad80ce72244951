"""Asking again as things stood: the log up to a position, in a home of its own, under today's code.

What comes out is computed anew and says so; a replay, which is exact, is another thing.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.capture.layout import ACTIVE, BLOBS, META, VECTORS, read_meta, sealed_segments
from holdfast.capture.line import canonical
from holdfast.errors import Invalid, NotFound
from holdfast.model.events import Event
from holdfast.model.packs import Pack
from holdfast.model.tokens import TokenSettings

from .open import opened_in, project_folder
from .replaying import Recorded, recorded
from .rescoring import Settings, under
from .wanting import Wanted, generation

if TYPE_CHECKING:
    from .holdfast import Holdfast

_SEQ = re.compile(rb'\{"v":\d+,"event_seq":(\d+),')


def requery(
    hf: Holdfast,
    pack_id: str,
    user: str,
    at: int | None = None,
    settings: Settings | None = None,
) -> Pack:
    """The context that would be handed out now, if the log ended where it did then, or at `at`.

    It is asked for as it was then, and under the settings it was made with, or under others.
    """
    of = recorded(hf, pack_id, user)
    wanted = of.wanted if settings is None else under(hf, of, settings)
    with _past(hf, user, wanted, _end(hf, of, at), of.said.now) as then:
        s = then.session(
            agent=of.event.agent or "", user=user, session_id=of.event.session_id or ""
        )
        pack = s.context(
            wanted.query,
            budget=wanted.budget,
            window=wanted.window,
            model=wanted.model or None,
            system=wanted.system,
            tools=list(wanted.tools),
            format=wanted.format,
            signals=wanted.signals,
            new_tokens=wanted.new_tokens,
            settings=wanted.compose,
        )
    notices = pack.receipt.notices
    if generation(hf, user) != of.said.generation:
        notices = (*notices, "something was erased since it was made; what is left was asked")
    receipt = replace(pack.receipt, pack=pack_id, recomputed=True, notices=notices)
    return replace(pack, id=pack_id, receipt=receipt)


def _end(hf: Holdfast, of: Recorded, at: int | None) -> tuple[int, str]:
    """The last event there is, and until when; an epoch that the context began is not there yet."""
    if at is None:
        last = of.began.event_seq if of.begins else of.event.event_seq
        return last - 1, of.event.timestamp
    if type(at) is not int or at < 1:
        raise Invalid(f"a position is the number of an event, not {at!r}")
    found = next((e for e in hf.log.read(at - 1) if isinstance(e, Event)), None)
    if found is None or found.event_seq != at:
        raise NotFound(f"there is no event {at}; the last one is {hf.log.head().event_seq}")
    return at, found.timestamp


@contextmanager
def _past(
    hf: Holdfast, user: str, wanted: Wanted, end: tuple[int, str], now: int
) -> Iterator[Holdfast]:
    """The logs a context was made from as they stood, copied; other projects by the time."""
    last, moment = end
    with tempfile.TemporaryDirectory(prefix="holdfast-past-") as place:
        chosen = replace(
            hf.settings,
            home=place,
            keys=os.path.join(place, "keys"),
            recall=wanted.recall,
            tokens=_counting(wanted),
        )
        for log in hf.logs(user):
            folder = project_folder(chosen, log.project.id)
            _copied(log, Path(folder), last if log is hf else _last_before(log, moment))
        # without a root: what the files say today has no part in it
        then = opened_in(replace(hf.project, root=""), chosen, lambda: now, user)
        try:
            then.index()
            yield then
        finally:
            then.close()


def _counting(wanted: Wanted) -> TokenSettings:
    """Settings that count tokens as they were counted."""
    encoding, _, factor = wanted.counted_with.partition("*")
    name = wanted.model.strip().lower()
    return TokenSettings(
        model=wanted.model,
        encoding=encoding,
        encodings={name: encoding} if name else {},
        factors={name: float(factor)} if name and factor else {},
    )


def _last_before(log: Holdfast, moment: str) -> int:
    last = 0
    for event in log.events():
        if event.timestamp > moment:
            break
        last = event.event_seq
    return last


def _copied(log: Holdfast, folder: Path, last: int) -> None:
    """The records up to one of them, as they lie on the disk; without the chain, which has its keys."""
    folder.mkdir(parents=True, mode=0o700)
    source = Path(log.folder)
    state = {**read_meta((source / META).read_bytes()), "integrity_mode": "crc"}
    state.pop("erasing", None)
    (folder / META).write_bytes(canonical(state))
    names = [segment.path for segment in sealed_segments(log.folder, os.listdir(log.folder))]
    with open(folder / ACTIVE, "wb") as out:
        for name in [*names, str(source / ACTIVE)]:
            if not os.path.exists(name):
                continue
            with open(name, "rb") as lines:
                for line in lines:
                    seq = _SEQ.match(line)
                    if seq is not None and int(seq[1]) <= last:
                        out.write(line)
    if (source / BLOBS).is_dir():
        shutil.copytree(source / BLOBS, folder / BLOBS)
    for known in source.glob(f"{VECTORS}/*/texts.cache"):  # no text is embedded twice
        kept = folder / known.relative_to(source)
        kept.parent.mkdir(parents=True)
        shutil.copy(known, kept)

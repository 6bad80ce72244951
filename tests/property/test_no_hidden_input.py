"""The same log gives the same state in any process: no hash seed, zone, locale or place gets in."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.views.fold import state_hash
from tests.contract.entries import entry, events_of, file_log
from tests.property.histories import FOLDED, folded, story

ROOT = str(Path(__file__).parents[2])

_FOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from hashlib import sha256
from pathlib import Path
from holdfast.engines.files import FileLog
from holdfast.engines.reference.views import MemorySnapshots, MemoryViews
from holdfast.engines.sqlite import Index, SqliteViews
from holdfast.model.settings import ViewSettings
from holdfast.views import follow
from holdfast.views.every import shape
from holdfast.views.runner import Runner

follow.CHUNK = int(sys.argv[4])
Path(sys.argv[3]).mkdir()
index = Index(sys.argv[3], project_id="p")
store = SqliteViews(index, shape=shape()) if sys.argv[5] == "sqlite" else MemoryViews()
kept = MemorySnapshots()
most = ViewSettings(snapshot_every_events=1 << 30, snapshot_most_bytes=int(sys.argv[6]))
runner = Runner(
    FileLog(sys.argv[2]), store, kept, spare=MemoryViews, project_id="p", settings=most
)
print(runner.state_hash())
runner.export()
print(sha256(next(iter(kept.load()))).hexdigest())
runner.close()
"""

#: seed of hashes, time zone, language, commit after so many events, where rows are kept
WORLDS = [
    ("0", "UTC", "C", 20_000, "memory"),
    ("1", "Asia/Kathmandu", "en_US.UTF-8", 20_000, "sqlite"),
    ("random", "America/St_Johns", "tr_TR.UTF-8", 7, "sqlite"),
    ("0", "America/St_Johns", "POSIX", 1, "memory"),
    ("1", "UTC", "de_DE.ISO-8859-1", 50, "memory"),
    ("random", "Asia/Kathmandu", "C.UTF-8", 3, "sqlite"),
    ("random", "UTC", "ja_JP.eucJP", 20_000, "memory"),
]


def odd_entries() -> list[Any]:
    """What a dictionary, a set or a locale could put in another order."""
    names = ["ı", "I", "i", "İ", "ß", "ss", "Ω", "z", "Z", "\u2028", "", "é", "e\u0301", "😀"]
    payload = {
        "text": "Iı İi",
        "tool": "Edit",
        "gate": {name: n for n, name in enumerate(names)},
        "passed": True,
        "reason": {name: [n] for n, name in enumerate(reversed(names))},
        "state": {name: {other: n for n, other in enumerate(names)} for name in names},
        "input": {
            "file_path": "İ.py",
            "todos": [{"content": name, "status": "pending"} for name in names],
        },
        "file_changes": names,
        **{name: 0.1 + n for n, name in enumerate(names)},
    }
    return [
        entry(event_id=f"odd-{n}", type=f"{kind}@1", payload=payload, session_id=f"ses_{n % 3}")
        for n, kind in enumerate(FOLDED * 2)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = file_log(tmp_path / "log", segment_bytes=30_000)
    log.append([*story(1, 150, sessions=12), *odd_entries(), *story(2, 50)])
    log.close()
    return tmp_path / "log"


def fold_in(world: tuple[str, str, str, int, str], folder: Path, place: Path, most: int) -> str:
    """What a fresh process says, in another corner of the world."""
    seed, zone, language, chunk, store = world
    place.mkdir()
    given = [ROOT, folder, place / "index", chunk, store, most]
    done = subprocess.run(
        [sys.executable, "-c", _FOLD, *map(str, given)],
        cwd=place,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("LC_", "PYTHON"))},
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "LANG": language,
            "LC_ALL": language,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("most", [1 << 30, 12_000], ids=["whole", "capped"])
def test_a_log_gives_one_state_and_one_snapshot_everywhere(
    folder: Path, tmp_path: Path, most: int
) -> None:
    places = [tmp_path / f"process {n}" for n in range(len(WORLDS))]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda n: fold_in(WORLDS[n], folder, places[n], most), range(7)))
    assert len(set(said)) == 1, dict(zip(WORLDS, said, strict=True))
    log = file_log(folder)
    assert said[0].split()[0] == state_hash(folded(events_of(log)))
    log.close()

"""The path of one datum, as ARCHITECTURE.md tells it."""

from __future__ import annotations

from pathlib import Path

import msgspec

import holdfast
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper
from holdfast.engines.clock import SystemClock, UlidIds
from holdfast.engines.files import FileLog
from holdfast.engines.sqlite import Index, SqliteViews
from holdfast.model.events import Draft, Event
from holdfast.record.recorder import Recorder
from holdfast.record.trust import trust_of
from holdfast.views.every import VIEWS, shape
from holdfast.views.fold import Fold


def test_a_tool_result_goes_from_draft_to_entry_to_line_to_event(tmp_path: object) -> None:
    log = FileLog(str(tmp_path))
    redactor = Redactor(b"k" * 32)
    recorder = Recorder(
        log,
        redactor=redactor,
        shaper=Shaper(redactor, log.blobs.keep),
        clock=SystemClock(),
        ids=UlidIds(),
    )
    draft = Draft(type="tool_result", payload={"tool": "Bash", "text": "ok"}, origin="tool")
    recorded = recorder.record([draft])[0]
    assert (recorded.event_seq, recorded.trust) == (1, trust_of("tool"))
    with open(f"{log.folder}/events.ndjson", "rb") as file:
        line = file.read()
    assert line.startswith(b'{"v":2,"event_seq":1,"event_id":"evt_')
    assert line.endswith(b'"}\n')
    read = list(log.read())
    assert read == [recorded]
    assert msgspec.json.decode(line, type=Event) == recorded
    log.close()


def test_an_event_goes_back_from_line_to_fold_to_row_to_state(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana") as hf, hf.session(agent="coder") as s:
        s.decision("integers in cents")
        state = s.state()
        folder = hf.folder
    assert [decision.text for decision in state.decisions] == ["integers in cents"]
    index = Index(folder, project_id="p")
    store = SqliteViews(index, shape=shape())
    position = store.position()
    assert position is not None
    assert position.event_seq == 3
    fold = Fold(lambda _view, _key: None)
    for event in FileLog(folder).read():
        assert isinstance(event, Event)
        fold.apply(event)
    assert sorted(fold.changes()) == store.rows_of([view.name for view in VIEWS])
    index.let_go()

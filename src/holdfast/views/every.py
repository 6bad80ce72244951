"""Every view there is. A later room adds its own here and nowhere else."""

from __future__ import annotations

from hashlib import sha256

from .checkpoints import CheckpointView
from .cold import ColdView
from .decisions import Decisions
from .documents import DocumentView, PatternView
from .epochs import EpochView
from .extent import ExtentView
from .failures import FailureView
from .files import FileView
from .gates import GateView
from .items import ItemView
from .memories import MemoryView
from .scratchpad import Scratchpads
from .sessions import Sessions
from .slots import SlotView
from .spending import SpendingView
from .tasks import TaskView
from .transcript import Transcripts
from .usage import UsageView
from .view import View
from .weighing import WeighingView

VIEWS: tuple[View, ...] = (
    Sessions(),
    Transcripts(),
    Scratchpads(),
    Decisions(),
    TaskView(),
    FileView(),
    GateView(),
    FailureView(),
    CheckpointView(),
    MemoryView(),
    SlotView(),
    UsageView(),
    ExtentView(),
    DocumentView(),
    PatternView(),
    EpochView(),
    SpendingView(),
    ItemView(),
    ColdView(),
    WeighingView(),
)


def shape(views: tuple[View, ...] = VIEWS) -> str:
    """What rows of these views mean; other rows are not theirs to read."""
    said = "".join(f"{view.name}@{view.version}\n" for view in views)
    return sha256(said.encode()).hexdigest()[:16]

"""The demo's story: a small team's invoice service, three days, two agents, one crash.

Each line is the time it happened, the verb of `Session` that records it, and what it says.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Line(NamedTuple):
    """One thing an agent records."""

    at: str
    verb: str
    words: tuple[Any, ...]
    more: dict[str, Any]


def _line(at: str, verb: str, *words: Any, **more: Any) -> Line:
    return Line(f"2026-03-{at}:00Z", verb, words, more)


#: looks like a real key, belongs to nobody; the log never sees it
SECRET = "sk-ant-api03-" + "x7" * 45

MONDAY = (
    _line(
        "02T09:02",
        "user",
        "We need a service for invoices: create, pay, refund. Start with the design.",
    ),
    _line(
        "02T09:05", "update_state", {"current_task": "design the invoice service", "blockers": []}
    ),
    _line("02T09:20", "tool_call", "Read", {"file_path": "docs/requirements.md"}),
    _line(
        "02T09:20",
        "tool_result",
        "Read",
        "Tenants must never see each other's invoices. Audit for 10 years.",
    ),
    _line(
        "02T09:41",
        "assistant",
        "PostgreSQL with row-level security fits: the tenant rule is enforced below our code.",
    ),
    _line(
        "02T09:55", "decision", "PostgreSQL 18 with row-level security; one schema for the service"
    ),
    _line("02T10:10", "user", f"Fine. Deploy the preview with {SECRET} until we have a vault."),
    _line(
        "02T10:12", "assistant", "I will read the key from the environment and not write it down."
    ),
    _line(
        "02T10:30",
        "decision",
        "Invoices are append-only; a refund is a new row that points to the old one",
    ),
    _line(
        "02T10:45", "tool_call", "Write", {"file_path": "docs/adr/001-invoices.md", "content": "…"}
    ),
    _line("02T10:45", "tool_result", "Write", "written"),
    _line("02T11:00", "gate", 1, passed=True, text="design review"),
    _line("02T11:02", "task_done", "design the invoice service"),
)

TUESDAY = (
    _line("03T08:58", "user", "Build what the architect decided. Tests first."),
    _line(
        "03T09:01",
        "update_state",
        {"current_task": "invoices table and totals", "spec_file": "docs/adr/001-invoices.md"},
    ),
    _line(
        "03T09:10",
        "tool_call",
        "Write",
        {"file_path": "migrations/0001_invoices.sql", "content": "…"},
    ),
    _line("03T09:10", "tool_result", "Write", "written"),
    _line("03T09:25", "tool_call", "Bash", {"command": "pytest -q tests/test_totals.py"}),
    _line(
        "03T09:26",
        "tool_result",
        "Bash",
        "1 failed: test_invoice_total: expected 120.00, got 119.99",
        is_error=True,
    ),
    _line("03T09:30", "error", "Totals are wrong by a cent: amounts were floats"),
    _line("03T09:33", "gate", 2, passed=False, text="unit tests"),
    _line("03T09:40", "decision", "Amounts are integers in cents, never floats"),
    _line(
        "03T09:52",
        "tool_call",
        "Edit",
        {"file_path": "src/invoices/totals.py", "new_string": "cents: int"},
    ),
    _line("03T09:52", "tool_result", "Edit", "edited"),
    _line("03T09:58", "tool_call", "Bash", {"command": "pytest -q"}),
    _line("03T09:59", "tool_result", "Bash", "41 passed"),
    _line("03T10:00", "gate", 2, passed=True, text="unit tests"),
    _line("03T10:01", "task_done", "invoices table and totals"),
    _line("03T13:30", "user", "Now refunds. A refund may never exceed what was paid."),
    _line(
        "03T13:31",
        "update_state",
        {"current_task": "refund endpoint", "files_in_progress": ["src/invoices/refunds.py"]},
    ),
    _line(
        "03T13:50", "tool_call", "Write", {"file_path": "src/invoices/refunds.py", "content": "…"}
    ),
    _line("03T13:50", "tool_result", "Write", "written"),
    _line("03T14:10", "tool_call", "Bash", {"command": "pytest -q tests/test_refunds.py"}),
    _line(
        "03T14:11",
        "tool_result",
        "Bash",
        "1 failed: two refunds at once both passed the check",
        is_error=True,
    ),
    _line("03T14:15", "error", "Race: two refunds read the same balance before either is written"),
    _line(
        "03T14:18", "update_state", {"blockers": ["refunds race; idea: lock the invoice row first"]}
    ),
)

#: what the process was writing when it was killed
CUT_OFF = _line(
    "03T14:20",
    "assistant",
    "I will take a row lock on the invoice before reading its balance, so that",
)

WEDNESDAY = (
    _line("04T09:00", "user", "You were cut off yesterday. Go on."),
    _line(
        "04T09:02",
        "assistant",
        "The refund race is open; I take SELECT … FOR UPDATE on the invoice row first.",
    ),
    _line("04T09:04", "decision", "A refund locks its invoice row before it reads the balance"),
    _line(
        "04T09:15",
        "tool_call",
        "Edit",
        {"file_path": "src/invoices/refunds.py", "new_string": "FOR UPDATE"},
    ),
    _line("04T09:15", "tool_result", "Edit", "edited"),
    _line("04T09:20", "tool_call", "Bash", {"command": "pytest -q"}),
    _line("04T09:21", "tool_result", "Bash", "58 passed"),
    _line("04T09:22", "gate", 3, passed=True, text="integration tests"),
    _line("04T09:23", "task_done", "refund endpoint"),
    _line("04T09:24", "update_state", {"blockers": [], "current_task": None}),
)

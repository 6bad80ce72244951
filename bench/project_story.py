"""The project that is played: a service for invoices, made up, with what was decided and who asks later.

The answers a question gets never repeat what was decided, so that each is found where it was said once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.project_host import Tool


@dataclass(frozen=True)
class Fact:
    """Something that is said once and asked for later, in other words."""

    said: str
    answer: str
    asked: str
    #: it is in a window when this is
    needle: str
    #: what went wrong before, of a fix
    error: str = ""


FACTS = {
    "numbers": Fact(
        "Decision: an invoice number is INV, the year and six digits, drawn under a row lock, and a "
        "number is never handed out twice, not even for a cancelled draft.",
        "Noted, I will build the sequence that way.",
        "Write the function that draws the next invoice number; what did we say about gaps and drafts?",
        "never handed out twice",
    ),
    "money": Fact(
        "All amounts are integer cents, in the database and in JSON. No floats anywhere.",
        "Understood.",
        "Which type should the amount field of the new endpoint have?",
        "integer cents",
    ),
    "vat": Fact(
        "The auditor wants VAT rounded line by line, half up, and the sum of the rounded lines on top.",
        "I will round each line by itself.",
        "How is VAT rounded on an invoice with many lines?",
        "line by line, half up",
    ),
    "database": Fact(
        "We stay with PostgreSQL 16 and plain SQL migrations below db/migrations, without any ORM.",
        "Plain SQL it is.",
        "Add a column to the customers table. How do we do migrations here?",
        "plain SQL migrations below db/migrations",
    ),
    "style": Fact(
        "I prefer tests as plain functions without classes, and never a mock of our own repository.",
        "I will write them like that.",
        "Write tests for the reminders. How do I like my tests?",
        "plain functions without classes",
    ),
    "zone": Fact(
        "Due dates count thirty days in Europe/Vienna from the invoice date, never in UTC.",
        "Then the due date is a local date.",
        "The due date is off by one day near midnight. Which time zone counts for due dates?",
        "Europe/Vienna",
    ),
    "retry": Fact(
        "POST /invoices takes an Idempotency-Key, and we keep those keys for 48 hours.",
        "I will store them with their answer.",
        "A client repeats POST /invoices after a timeout. What protects us from a second invoice?",
        "keep those keys for 48 hours",
    ),
    "fonts": Fact(
        "The PDF test fails on the build machine. Find out why.",
        "The image lacked the library for text layout: libpango-1.0-0 goes into the Dockerfile, "
        "then the PDF test passes.",
        "The PDF rendering fails again in the new image. What was missing the last time?",
        "libpango-1.0-0",
        error="Exit code 1\nOSError: cannot load library 'gobject-2.0': cannot open shared object",
    ),
    "deadlock": Fact(
        "The numbering test hangs now and then when two workers run. Repair it.",
        "Both workers took two row locks in different order; rows are now locked in ascending "
        "customer id, and two hundred runs passed.",
        "I see a deadlock in the batch job with two workers. In which order do we take row locks?",
        "ascending customer id",
        error="Exit code 1\npsycopg.errors.DeadlockDetected: deadlock detected while locking rows",
    ),
    "reminders": Fact(
        "Reminders go out after 7, 21 and 35 days, and the third only after a person approved it.",
        "The third one will wait for a person.",
        "Build the reminder job. After how many days do reminders go out, and who approves?",
        "7, 21 and 35 days",
    ),
    "archive": Fact(
        "Finished PDF files are stored by their SHA-256 in the bucket ledger-archive for ten years.",
        "I will name the objects by hash.",
        "Where do we store the finished PDF files, and for how long?",
        "ledger-archive",
    ),
    "commits": Fact(
        "Please write commit messages in the imperative and leave ticket numbers out of them.",
        "I will.",
        "Commit this. How do I want the commit message?",
        "leave ticket numbers out",
    ),
    "export": Fact(
        "The tax office export is CSV with semicolons in ISO-8859-15: they cannot read UTF-8.",
        "Then the export gets an encoder of its own.",
        "Write the export for the tax office. Which encoding and separator do they need?",
        "semicolons in ISO-8859-15",
    ),
}

#: ordinary work: what is asked, what is answered, and the file it is about
WORK = (
    (
        "Show me the customer model.",
        "It has a name, an address and a tax id.",
        "models/customer.py",
    ),
    (
        "Add a postal code to the address.",
        "The address has a postal code now.",
        "models/address.py",
    ),
    ("Run the unit tests.", "All of them pass.", "tests/test_models.py"),
    ("The list of invoices is slow, look at the query.", "It lacked an index.", "db/queries.py"),
    ("Rename Bill to Invoice in the views.", "Renamed in four places.", "views/invoice.py"),
    ("Make the health check answer without the database.", "It does now.", "views/health.py"),
    ("Explain how line items are loaded.", "With one join, ordered by position.", "db/lines.py"),
    (
        "Validate e-mail addresses of customers.",
        "Addresses are checked on entry.",
        "models/mail.py",
    ),
    ("Add paging to the list of customers.", "Fifty on a page.", "views/customers.py"),
    ("Log slow requests.", "Everything over a second is logged.", "middleware/timing.py"),
    ("Move settings into one file.", "They are in settings.py.", "settings.py"),
    ("Add a discount to a line item.", "A line may have a discount.", "models/line.py"),
    ("Show the total in the footer of the PDF.", "The footer shows it.", "pdf/footer.py"),
    ("Sort customers by name without case.", "Sorted with casefold.", "db/customers.py"),
    ("The login page has a typo.", "Fixed.", "views/login.py"),
    ("Count open invoices per customer.", "There is a view for it.", "db/open_invoices.py"),
)


def work(number: int) -> tuple[str, str, tuple[tuple[Tool, ...], ...]]:
    """One ordinary turn: a file is read beside a search, changed, and tested."""
    asked, answer, path = WORK[number % len(WORK)]
    round_ = f" (round {number // len(WORK) + 1})" if number >= len(WORK) else ""
    source = "\n".join(_source(path, number))
    read = Tool("Read", {"file_path": path}, {"type": "text", "file": {"content": source}})
    look = Tool("Grep", {"pattern": "def "}, {"mode": "content", "content": source[:400]})
    old = f"value_{number}_3"
    edit = Tool(
        "Edit",
        {"file_path": path, "old_string": old, "new_string": old + "_checked"},
        {"filePath": path, "oldString": old, "newString": old + "_checked"},
    )
    told = f"collected {number + 7} items\n{path} {'.' * (number + 7)}\n{number + 7} passed"
    test = Tool("Bash", {"command": "pytest -q"}, {"stdout": told, "stderr": ""})
    return asked + round_, answer + round_, ((read, look), (edit,), (test,))


def _source(path: str, number: int) -> Iterator[str]:
    name = path.rpartition("/")[2].removesuffix(".py")
    yield f'"""What the ledger knows about {name}."""'
    for n in range(12):
        yield f"def {name}_{n}(rows, limit={number * 10 + n}):"
        yield f"    value_{number}_{n} = [row.{name} for row in rows][:limit]"
        yield f"    return sorted(value_{number}_{n}, key=lambda one: one.id)"


def broken(fact: Fact) -> tuple[tuple[Tool, ...], ...]:
    """The tool that failed before a fix, and passed after it."""
    command = {"command": "pytest -q tests/test_pdf.py tests/test_numbers.py"}
    return (
        (Tool("Bash", command, error=fact.error),),
        (Tool("Bash", command, {"stdout": "2 passed", "stderr": ""}),),
    )

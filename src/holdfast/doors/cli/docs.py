"""Commands about documents: add, refresh, list, remove."""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App

from holdfast.errors import Invalid
from holdfast.model.documents import DocumentReport

from . import show
from .program import DEFAULT, PLAIN, Common, app, opened

docs = App(
    name="docs", help="Files of the project that recall finds and cites.", default_parameter=PLAIN
)
app.command(docs)

_HOW = "holdfast docs add 'docs/**/*.md'"
#: files that are named one by one; of more it is said how many
_MOST_NAMED = 20


@docs.default
def docs_(*, common: Common = DEFAULT) -> int:
    """Say which documents there are, and what can be done with them."""
    with opened(common) as hf:
        hf.documents.follow()
        known, patterns = hf.documents.list(), hf.documents.patterns()
    if common.json:
        show.as_json({"documents": len(known), "patterns": patterns})
        return 0
    if not known:
        show.say(f"No documents yet. Read some in with: {_HOW}")
        show.say('Then they are found by: holdfast recall "…" (--kind document for them alone)')
        return 0
    show.say(f"{show.count(len(known), 'document')} from {_some(patterns)}.")
    show.say(
        "holdfast docs list shows them; refresh reads what changed; add and remove take paths."
    )
    return 0


@docs.command
def add(*patterns: str, common: Common = DEFAULT) -> int:
    """Read in files, so that recall finds them part by part, with path and line.

    Parameters
    ----------
    patterns
        Paths, folders or patterns below the project's root, like 'docs/**/*.md'; quoted, `holdfast docs
        refresh` finds new files too.
    """
    if not patterns:
        raise Invalid(f"name at least one file or pattern: {_HOW}")
    with opened(common) as hf:
        with show.progress("reading", 0) as progress:
            report = hf.documents.add(patterns, progress=progress)
        _show(report, as_json=common.json)
    return 0 if report.read else Invalid.exit_code


@docs.command
def refresh(*, common: Common = DEFAULT) -> int:
    """Look at every document again: read what is new or changed, take out of use what is gone."""
    with opened(common) as hf:
        nothing = not hf.documents.patterns() and not hf.documents.list()
        with show.progress("reading", len(hf.documents.list())) as progress:
            report = hf.documents.refresh(progress=progress)
        if nothing and not common.json:
            show.say(f"There are no documents to refresh. Read some in with: {_HOW}")
        else:
            _show(report, as_json=common.json)
    return 0


@docs.command(name="list")
def list_(*, common: Common = DEFAULT) -> int:
    """List the documents there are."""
    with opened(common) as hf:
        hf.documents.follow()
        known, patterns = hf.documents.list(), hf.documents.patterns()
    if common.json:
        show.as_json({"documents": known, "patterns": patterns})
    elif not known:
        show.say(f"No documents yet. Read some in with: {_HOW}")
    else:
        rows = [(one.path, one.parts, one.lines, show.moment(one.at)) for one in known]
        show.table(("path", "parts", "lines", "indexed"), rows)
        show.say(f"Looked for at each refresh: {_some(patterns)}")
    return 0


@docs.command
def remove(*paths: str, common: Common = DEFAULT) -> int:
    """Take documents out of use. Their files stay as they are.

    Parameters
    ----------
    paths
        Paths, folders or patterns, as `holdfast docs list` shows them.
    """
    if not paths:
        raise Invalid("name what to remove, as holdfast docs list shows it")
    with opened(common) as hf:
        report = hf.documents.remove(paths)
        _show(report, as_json=common.json)
    return 0


def _show(report: DocumentReport, *, as_json: bool) -> None:
    if as_json:
        show.as_json(report)
        return
    for what, paths in (("new", report.added), ("changed", report.changed), ("gone", report.gone)):
        _named(what, paths)
    _named("left out", [f"{one.path}: {one.why}" for one in report.left_out])
    for pattern in report.unmatched:
        show.warn(f"Nothing matches {pattern}.")
    said = [
        f"{len(paths):,} {what}"
        for what, paths in (
            ("new", report.added),
            ("changed", report.changed),
            ("as before", report.unchanged),
            ("out of use", report.gone),
            ("left out", report.left_out),
        )
        if paths
    ]
    show.say(f"Documents: {', '.join(said) or 'nothing to do'}.", "bold green" * bool(report.read))


def _some(patterns: Sequence[str]) -> str:
    """The first few; a shell may have made a pattern of each file."""
    more = len(patterns) - _MOST_NAMED
    return ", ".join(patterns[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _named(what: str, lines: Sequence[str]) -> None:
    for line in lines[:_MOST_NAMED]:
        show.say(f"  {what:<9} {line}")
    if len(lines) > _MOST_NAMED:
        show.say(f"  {what:<9} and {len(lines) - _MOST_NAMED:,} more")

"""The verbs of this floor. Each parses, calls one verb of `app`, and shows what came back."""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

from cyclopts import Parameter
from rich.text import Text

from holdfast import DamageWarning
from holdfast.app import demo as demo_app
from holdfast.app import doctor as doctor_app
from holdfast.app import reset as reset_app
from holdfast.app import transfer, unclaimed
from holdfast.app.open import init as init_project
from holdfast.errors import Damaged, Invalid, NotFound
from holdfast.model.reports import Verified

from . import show
from .program import DEFAULT, Common, app, opened
from .sessions import show_status

File = Annotated[str, Parameter(allow_leading_hyphen=True)]


@app.command
def init(
    path: Path = Path("."),
    /,
    *,
    chained: bool = False,
    home: str | None = None,
    json: Annotated[bool, Parameter(help="Answer in JSON.", negative=())] = False,
) -> int:
    """Give a folder an identity, so that its memory follows it.

    Parameters
    ----------
    path
        The project's root.
    chained
        Keep a hash chain with a key outside the home, so that any edit of the log shows.
    home
        Where everything is kept. Default: HOLDFAST_HOME.
    """
    with init_project(path, home, chained=chained) as hf:
        said = {"project_id": hf.project.id, "root": hf.project.root, "folder": hf.folder}
        if json:
            show.as_json({**said, "notices": hf.notices})
        else:
            show.say(f"Project {hf.project.id} is ready.", "bold green")
            show.say(f"  marker  {hf.project.root}/.holdfast.toml  (commit it)")
            show.say(f"  data    {hf.folder}")
            for notice in hf.notices:
                show.say(notice, "yellow")
    return 0


@app.command
def demo(*, json: Annotated[bool, Parameter(help="Answer in JSON.", negative=())] = False) -> int:
    """Watch three days of a project: two agents, a crash, a lost index, and nothing forgotten."""
    place = tempfile.mkdtemp(prefix="holdfast-demo-")
    warnings.simplefilter("ignore", DamageWarning)  # its damage is part of the story
    try:
        if json:
            show.as_json([step._asdict() for step in demo_app.play(place)])
            return 0
        for number, step in enumerate(demo_app.play(place), 1):
            show.say(f"\n{number}. {step.title}", "bold")
            if step.text:
                show.say(step.text)
            if step.events:
                rows = [
                    (show.moment(e.timestamp), e.agent or "", e.kind, e.words) for e in step.events
                ]
                show.table(("when", "agent", "what", "words"), rows)
            if step.page:
                show.framed(step.page)
            if step.status is not None:
                show_status(step.status)
            if step.report is not None:
                _show_verified(step.report)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 0


@app.command
def verify(*, common: Common = DEFAULT) -> int:
    """Read every byte of the log and say what is wrong. Ends with 7 when something is."""
    with opened(common) as hf:
        with show.progress("verifying", hf.log.head().event_seq) as progress:
            report = hf.verify(progress)
        if common.json:
            show.as_json({"sound": report.sound, "report": report})
        else:
            _show_verified(report)
    return 0 if report.sound else Damaged.exit_code


def _show_verified(report: Verified) -> None:
    rows: list[tuple[object, object]] = [
        ("events", f"{report.events:,} (seq {report.first_seq} to {report.last_seq})"),
        ("sessions", report.sessions),
        ("segments", f"{report.segments}, {report.bytes:,} bytes, generation {report.generation}"),
    ]
    rows += [(d.reason.replace("_", " "), d) for d in report.damage[:50]]
    if len(report.damage) > 50:
        rows.append(("…", f"{len(report.damage) - 50} more damaged stretches"))
    rows += [("body", f"{digest} is missing or changed") for digest in report.bad_blobs]
    optional = [
        ("erased", report.erased, "events had their content erased"),
        ("foreign", report.foreign, "events in a session of another agent or user"),
        ("spool", report.spooled, "events wait for a place"),
    ]
    rows += [(name, f"{count} {what}") for name, count, what in optional if count]
    if report.chain != "off":
        where = f", first at event {report.chain_break}" if report.chain_break else ""
        rows.append(("chain", report.chain + where))
        tail = (
            f"; {report.unanchored} events after it are not anchored" if report.unanchored else ""
        )
        rows.append(("anchor", f"event {report.anchored_seq}{tail}"))
    verdict = Text("sound", "bold green") if report.sound else Text("DAMAGED", "bold red")
    show.table(("log", ""), [*rows, ("verdict", verdict)])


@app.command
def doctor(
    *,
    clean: Annotated[
        bool, Parameter(help="First clear away what hooks left over.", negative=())
    ] = False,
    take: Annotated[
        str | None,
        Parameter(
            help="First take what waits for this repository, which is gone, into this project."
        ),
    ] = None,
    drop: Annotated[
        str | None, Parameter(help="First remove what waits for this repository, for good.")
    ] = None,
    common: Common = DEFAULT,
) -> int:
    """Look at everything that must be right here, and say what to do about what is not."""
    done = doctor_app.clean(common.home, common.project) if clean else []
    if take is not None:
        done.append(unclaimed.take(take, common.home, common.project))
    if drop is not None:
        done.append(unclaimed.drop(drop, common.home))
    for one in [] if common.json else done:
        show.say(one[:1].upper() + one[1:] + ".")
    findings = doctor_app.examine(common.home, common.project)
    if common.json:
        show.as_json(findings)
    else:
        rows = [
            (f.check, Text("ok", "green") if f.good else Text("!!", "bold red"), f.found, f.remedy)
            for f in findings
        ]
        show.table(("check", "", "found", "what to do"), rows)
    return 0 if all(f.good for f in findings) else 1


@app.command
def export(file: File = "-", /, *, common: Common = DEFAULT) -> int:
    """Write the whole log, bodies included, to one file (or to standard output)."""
    if file == "-" and sys.stdout.isatty():
        raise Invalid(
            "standard output is a terminal, and a log may hold what moves its cursor; redirect to a file"
        )
    with opened(common) as hf:
        if file == "-":
            counts = transfer.export(hf, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with show.progress("exporting", hf.log.head().event_seq) as progress:
                counts = transfer.export_file(hf, _named(file), progress)
    wrong = {
        "damaged stretches were left out": counts["damaged"],
        "bodies are missing or damaged and were left out": counts["bad_bodies"],
    }
    if file != "-" and common.json:
        show.as_json({"file": file, **counts})
    elif file != "-":
        show.say(f"{counts['events']:,} events and {counts['bodies']:,} bodies are in {file}.")
    for what, count in wrong.items():
        if count and (file == "-" or not common.json):
            show.warn(f"{count} {what}.")
    return Damaged.exit_code if any(wrong.values()) else 0


def _named(file: str) -> str:
    """A file's name; one that looks like an option is more likely a misspelt one."""
    if file.startswith("-"):
        raise Invalid(f"there is no option {file}; a file of that name is ./{file}")
    return file


@app.command(name="import")
def import_(file: File, /, *, restore: bool = False, common: Common = DEFAULT) -> int:
    """Take in an export. Its events get trust 0: a file can come from anybody.

    Parameters
    ----------
    file
        An export, or - for standard input.
    restore
        This is my own backup: keep origin and trust. Only into a project that holds nothing.
    """
    with (
        _source(file) as source,
        opened(common, make=True) as hf,
        show.progress("importing", 0) as bar,
    ):
        done = transfer.import_(hf, source, restore=restore, progress=bar)
    if common.json:
        show.as_json(done)
    else:
        show.say(f"{done.events:,} events and {done.bodies:,} bodies were taken in.")
        if done.already_there:
            show.say(f"{done.already_there:,} were there already.")
        if done.damaged:
            lines = ", ".join(map(str, done.damaged_lines))
            show.say(f"{done.damaged} lines are damaged and were left out: {lines}", "bold red")
        if done.damaged_bodies:
            show.say(f"{done.damaged_bodies} of them began a body; its events are in.", "bold red")
        if not done.complete:
            show.say("The file's end is missing or does not agree: it is not whole.", "bold red")
    return 0 if done.complete and not done.damaged else Damaged.exit_code


@contextmanager
def _source(file: str) -> Iterator[BinaryIO]:
    """What is to be read: a file, or standard input."""
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = open(_named(file), "rb")  # noqa: SIM115  (closed below)
    except OSError as exc:
        raise NotFound(f"{file} cannot be read: {exc.strerror}") from exc
    with source:
        yield source


@app.command
def reset(*, force: bool = False, purge: bool = False, common: Common = DEFAULT) -> int:
    """Start this project's memory anew.

    Parameters
    ----------
    force
        Yes, I mean it.
    purge
        Remove the old data for good instead of setting it aside.
    """
    show_set_aside(reset_app.reset(common.home, common.project, force=force, purge=purge), common)
    return 0


def show_set_aside(aside: str, common: Common) -> None:
    """Where the old data is, and what of it is made again by whoever puts it back."""
    gone = reset_app.left_behind(aside) if aside else []
    if common.json:
        show.as_json({"set_aside": aside or None, "removed": gone})
        return
    if not aside:
        show.say("The old data is gone.")
        return
    show.say(f"The old data was set aside in {aside}; remove it when you are sure.")
    for folder in gone:
        show.say(f"Copies and logs made from it were removed from {folder}.")
    if gone:
        show.say("If you put the old data back, `holdfast rebuild` makes them again.")


@app.command
def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print the completion script of a shell: `eval "$(holdfast completion bash)"`."""
    sys.stdout.write(app.generate_completion(prog_name="holdfast", shell=shell) + "\n")
    return 0

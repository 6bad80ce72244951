"""What every command shares: the program itself, its common options, opening the project."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import App, Parameter

import holdfast
from holdfast.app.open import must_exist

from . import show


def _worth_saying(default: Any) -> str | None:
    """A default as help shows it; that nothing is given where nothing is given says nothing."""
    return None if default is None or default is False or default in ("", ()) else str(default)


#: how options are shown by every command
PLAIN = Parameter(show_default=_worth_saying)
app = App(
    name="holdfast",
    help="A context engine and long-term memory for LLM agents.",
    version=holdfast.__version__,
    default_parameter=PLAIN,
)
app.register_install_completion_command()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Common:
    """What every command takes."""

    home: Annotated[
        str | None, Parameter(help="Where everything is kept. Default: HOLDFAST_HOME.")
    ] = None
    project: Annotated[
        str | None, Parameter(help="A project id. Default: the one of this folder.")
    ] = None
    json: Annotated[bool, Parameter(help="Answer in JSON.", negative=())] = False


DEFAULT = Common()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Asker:
    """In whose name something is said or asked about memories."""

    agent: Annotated[
        str | None,
        Parameter(help="As this agent: of what belongs to sessions, only its own."),
    ] = None
    user: Annotated[str | None, Parameter(help="In whose name. Default: yours.")] = None


ME = Asker()


@contextmanager
def opened(common: Common, *, make: bool = False) -> Iterator[holdfast.Holdfast]:
    """The project that is meant, with what a person should know about it said first and last.

    What has one cause is said once, in the words that came first. A project that is named must be
    there, unless this is what makes it: a misspelt name is no project.
    """
    if common.project is not None and not make:
        must_exist(common.home, common.project)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notices
        hf = holdfast.open(common.home, project=common.project)
    causes: set[str] = set()
    _tell(hf.notices, causes)
    with hf:
        yield hf
        _tell(hf.notices, causes)


@contextmanager
def followed(common: Common) -> Iterator[holdfast.Holdfast]:
    """The same for commands about windows: the five logs say what happened, this command included."""
    with opened(common) as hf:
        yield hf
        hf.activity.brought_up()


def _tell(notices: Sequence[str], causes: set[str]) -> None:
    """Warn of what has a cause of its own, which is what comes after the colon."""
    for notice in notices:
        cause = notice.partition(": ")[2] or notice
        if cause not in causes:
            causes.add(cause)
            show.warn(notice)

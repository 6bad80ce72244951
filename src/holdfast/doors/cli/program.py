"""What every command shares: the program itself, its common options, opening the project."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from cyclopts import App, Parameter

import holdfast
from holdfast.app.open import must_exist

from . import show

app = App(
    name="holdfast",
    help="A context engine and long-term memory for LLM agents.",
    version=holdfast.__version__,
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


@contextmanager
def opened(common: Common, *, make: bool = False) -> Iterator[holdfast.Holdfast]:
    """The project that is meant, with what a person should know about it said first and last.

    One that is named must be there, unless this is what makes it: a misspelt name is no project.
    """
    if common.project is not None and not make:
        must_exist(common.home, common.project)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are among the notices
        hf = holdfast.open(common.home, project=common.project)
    said = hf.notices
    for notice in said:
        show.warn(notice)
    with hf:
        yield hf
        for notice in hf.notices[len(said) :]:
            show.warn(notice)

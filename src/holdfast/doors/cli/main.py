"""Where the command line begins and where its errors end."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

from cyclopts import CycloptsError

from holdfast.errors import HoldfastError, Invalid, NotFound, Unavailable

from . import show
from .program import app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; an error is a sentence and an exit code, never a trace."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    machine = "--json" in words
    warnings.showwarning = _say_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, TextIOWrapper
        ):  # a terminal that cannot show a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(
            words, result_action="return_value", exit_on_error=not machine, print_error=not machine
        )
    except CycloptsError as exc:
        show.error(Invalid(str(exc)), as_json=machine)
        sys.exit(Invalid.exit_code)
    except HoldfastError as exc:
        show.error(exc, as_json=machine)
        sys.exit(exc.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away; that is its right
        sys.exit(0)
    except FileNotFoundError as exc:
        show.error(NotFound(f"{exc.filename}: there is no such file or folder"), as_json=machine)
        sys.exit(NotFound.exit_code)
    except OSError as exc:
        show.error(Unavailable(str(exc)), as_json=machine)
        sys.exit(Unavailable.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    """What the library warns of, as a sentence instead of a place in its code."""
    show.warn(str(message))

"""Where the program begins: a hook is paid for at every step, so it takes the short way."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """`holdfast …`."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and "--help" not in words and "-h" not in words:
        _hook(words[1:])
    from holdfast.doors.cli import main as command

    command()


def _hook(words: list[str]) -> None:
    """A hook as the command line has it: some hosts stop when one fails, so no words make it fail."""
    verbs, home = [], None
    rest = iter(words)
    for word in rest:
        if word == "--home":
            home = next(rest, None)
        elif word.startswith("--home="):
            home = word.removeprefix("--home=")
        else:
            verbs.append(word)
    if len(verbs) == 1 and not verbs[0].startswith("-"):
        hook(verbs[0], home)
    try:
        said = (
            f"holdfast {' '.join(['hook', *words])}: a hook is one verb; see holdfast hook --help\n"
        )
        os.write(2, said.encode("utf-8", "replace"))
    finally:
        os._exit(0)


def hook(verb: str, home: str | None = None) -> None:
    """One hook of a host: whatever happens, it ends well."""
    try:
        from holdfast import settings
        from holdfast.capture.place import CACHE
        from holdfast.doors.hooks import any_host

        any_host.hook(verb, os.path.join(settings.place(home), CACHE))
    except BaseException as exc:  # noqa: BLE001  (whatever it is, the host must not notice)
        os.write(2, f"holdfast: {type(exc).__name__}: {exc}\n".encode("utf-8", "replace")[:500])
    finally:
        os._exit(0)

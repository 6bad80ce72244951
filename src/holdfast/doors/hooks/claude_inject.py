"""Claude Code calls this where it may be told something: `<python> -I -S <this file> <home>/hooks.json`.

It records what happens as `claude_capture.py` does, asks what is worth knowing at that moment, and
prints one JSON object with it, or nothing. With `--shorten N` it puts a reference in the place of what a
tool said in more than N characters instead; all of it is in the log.
"""

import os
import sys


def main() -> None:
    """Read, record, ask, say."""
    from holdfast.doors.hooks import claude, claude_words, told

    host = told.Host(claude.events, claude.folder)
    found = told.listen(sys.argv[1], host, asks=True)
    if found is None:
        return
    if sys.argv[2:3] == ["--shorten"]:
        claude_words.shorten(found, int(sys.argv[3]))
    else:
        claude_words.say(found)


if __name__ == "__main__":
    try:
        here = os.path.abspath(__file__)
        sys.path.append(
            here[: -len(os.path.join("holdfast", "doors", "hooks", "claude_inject.py"))]
        )
        main()
    except BaseException as exc:  # noqa: BLE001  (whatever it is, the host must not notice)
        os.write(2, f"holdfast: {type(exc).__name__}: {exc}\n".encode("utf-8", "replace")[:500])
    finally:
        os._exit(0)

"""Claude Code calls this where something happens: `<python> -I -S <this file> <home>/hooks.json`.

It records what it is told and prints nothing.
"""

import os
import sys


def main() -> None:
    """Read, record, leave."""
    from holdfast.doors.hooks import claude, told

    told.listen(sys.argv[1], told.Host(claude.events, claude.folder))


if __name__ == "__main__":
    try:
        here = os.path.abspath(__file__)
        sys.path.append(
            here[: -len(os.path.join("holdfast", "doors", "hooks", "claude_capture.py"))]
        )
        main()
    except BaseException as exc:  # noqa: BLE001  (whatever it is, the host must not notice)
        os.write(2, f"holdfast: {type(exc).__name__}: {exc}\n".encode("utf-8", "replace")[:500])
    finally:
        os._exit(0)

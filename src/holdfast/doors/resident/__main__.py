"""`python -I -m holdfast.doors.resident HOME ROOT`: started by a hook that found nobody to ask."""

from __future__ import annotations

import os
import sys

from holdfast.capture.disk import Disk
from holdfast.capture.layout import RESIDENT_LOCK
from holdfast.capture.lock import Busy, Lock
from holdfast.capture.place import CACHE, find


def main(home: str, root: str) -> int:
    """Be the project's resident, unless there is one."""
    disk = Disk()
    place = find(os.path.join(home, CACHE), root, disk)
    if place is None or not place.claimed:
        from .opening import claimed

        place = claimed(home, root)
    lock = Lock(os.path.join(place.folder, RESIDENT_LOCK), disk)
    try:
        lock.acquire(0)
    except Busy:
        return 0
    lock.write(b"%d\n" % os.getpid())  # for whoever wants to know
    from .server import serve  # only now what takes time to load

    try:
        return serve(home, root, place.folder, lock)
    finally:
        lock.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

"""`python -I -m holdfast.doors.resident HOME ROOT [PROJECT]`: started by whoever found nobody to ask.

Where nobody knows a root, ROOT is empty and PROJECT is the project's id.
"""

from __future__ import annotations

import os
import sys

from holdfast.capture.disk import Disk
from holdfast.capture.layout import RESIDENT_LOCK
from holdfast.capture.lock import Busy, Lock
from holdfast.capture.place import CACHE, find

#: somebody who only looks whether it is held has the lock for less than this
_LOOKS = 0.3


def main(home: str, root: str, project: str = "") -> int:
    """Be the project's resident, unless there is one."""
    disk = Disk()
    folder = _folder(home, root, disk) if root else _kept(home, project)
    lock = Lock(os.path.join(folder, RESIDENT_LOCK), disk)
    try:
        lock.acquire(_LOOKS)
    except Busy:
        return 0
    lock.write(b"%d\n" % os.getpid())  # for whoever wants to know
    from .server import Whose, serve  # only now what takes time to load

    try:
        return serve(Whose(home=home, root=root, project=project), folder, lock)
    finally:
        lock.done()


def _folder(home: str, root: str, disk: Disk) -> str:
    """Where the project around a root is kept."""
    place = find(os.path.join(home, CACHE), root, disk)
    if place is None or not place.claimed or not os.path.isdir(place.folder):
        from .opening import claimed

        place = claimed(home, root)
    return place.folder


def _kept(home: str, project: str) -> str:
    """Where the project of an id is kept; NotFound when nothing is."""
    from .opening import kept

    return kept(home, project)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))

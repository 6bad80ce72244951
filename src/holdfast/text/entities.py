"""What a text names exactly: files, code, errors, flags, versions, commits, addresses, quotes."""

from __future__ import annotations

import re

#: a text names at most so many things; what comes after them is left aside
MOST = 50
#: a quote or a name longer than this names nothing
LONGEST_QUOTE = 60
LONGEST_NAME = 200

_CHUNK = re.compile(r"[^\s,;()\[\]{}<>\"'`|=“”«»‘’「」。，、]+(?:\(\))?")
_QUOTED = re.compile(
    r"`([^`\n]{1,60})`|\"([^\"\n]{1,60})\"|“([^“”\n]{1,60})”|«([^«»\n]{1,60})»|「([^「」\n]{1,60})」"
    r"|(?<![\w'])'([^'\n]{1,60})'(?![\w'])"
)
_EDGES = ".:!?*…"

_ADDRESS = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?:[^/\s@]*@)?([^?#\s]+)")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_LINE_NUMBER = re.compile(r"(?::\d+){1,2}$")
_DRIVE = re.compile(r"[A-Za-z]:\\[^:*?]+")
_ROOTED = re.compile(r"(?:~|\.{1,2})?/[\w.@+~/-]+")
_RELATIVE = re.compile(r"@?[\w.+-]+(?:/[\w.@+-]+)+/?")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_ISSUE = re.compile(r"(?:[\w.-]+/[\w.-]+)?#\d{1,9}|[A-Z][A-Z0-9]{1,9}(?:-\d{1,9}){1,2}")
_FLAG = re.compile(r"--[A-Za-z][\w-]*|-[A-Za-z]")
_VERSION = re.compile(r"v\d+(?:\.\d+){0,3}(?:[-+][\w.-]+)?|\d+(?:\.\d+){2,3}(?:[-+][\w.-]+)?")
_COMMIT = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}")
_CODE = re.compile(r"[A-Z]{1,6}\d{2,6}|0x[0-9A-Fa-f]+")
_NAME = re.compile(
    r"""(?:
    [A-Za-z_$][\w$]*(?:(?:\.|::|\#)[A-Za-z_$][\w$]*)*\(\)          # called()
    |_{0,2}[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_{0,2}|__[a-z]+__        # snake_case, __dunder__
    |[A-Za-z_$][\w$]+(?:(?:\.|::)[A-Za-z_$][\w$]+)+                # dotted.name, file.ext
    |\.[A-Za-z][\w-]+(?:\.[\w-]+)*                                 # .gitignore
    |[a-z$_][a-z0-9]*[A-Z][A-Za-z0-9]*                             # camelCase
    |[A-Z][A-Z0-9]*[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*                 # PascalCase
    )""",
    re.VERBOSE,
)
_ERRORS = """
E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAGAIN EALREADY EBADF EBUSY ECANCELED ECHILD ECONNABORTED
ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH
EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE ENAMETOOLONG ENETDOWN
ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT ENOEXEC ENOLCK ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR
ENOTEMPTY ENOTFOUND ENOTSOCK ENOTSUP ENXIO EOPNOTSUPP EOVERFLOW EPERM EPIPE EPROTO ERANGE ERESOLVE EROFS
ESPIPE ESRCH ESTALE ETIMEDOUT EWOULDBLOCK EXDEV SIGABRT SIGBUS SIGFPE SIGHUP SIGILL SIGINT SIGKILL
SIGPIPE SIGSEGV SIGTERM
"""
_SYSTEM_ERRORS = frozenset(_ERRORS.split())


def entities(text: str) -> tuple[str, ...]:
    """The names in the order of the text, each once, at most 50; none is blank.

    Time is linear in the text. A word of prose, with a capital or without, is no name.
    """
    found: list[tuple[int, int, str]] = []
    for quote in _QUOTED.finditer(text):
        inside = " ".join((quote[quote.lastindex or 0]).split())
        if any(map(str.isalnum, inside)):
            found.append((quote.start(), 0, inside))
        if len(found) == MOST:
            break
    quoted = len(found)
    for chunk in _CHUNK.finditer(text):
        if len(found) - quoted == MOST:
            break
        name = _name(chunk[0])
        if name:
            found.append((chunk.start(), 1, name))
    return tuple(dict.fromkeys(name for _, _, name in sorted(found)))[:MOST]


def _name(chunk: str) -> str:
    """The name a chunk without spaces is, or nothing."""
    chunk = chunk.rstrip(_EDGES).lstrip("*!?:…")
    if len(chunk) < 2:
        return ""
    if "://" in chunk:
        return _address(chunk)
    if len(chunk) > LONGEST_NAME:
        return ""
    if "@" in chunk and _MAIL.fullmatch(chunk):
        return chunk
    if _ISSUE.fullmatch(chunk) or _FLAG.fullmatch(chunk):
        return chunk
    chunk = _LINE_NUMBER.sub("", chunk)
    if "/" in chunk or "\\" in chunk:
        return chunk if _is_path(chunk) else ""
    if chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
        return ""
    whole = (_VERSION, _COMMIT, _CODE, _NAME)
    known = chunk in _SYSTEM_ERRORS or any(each.fullmatch(chunk) for each in whole)
    return chunk if known and not _is_shortened(chunk) else ""


def _address(chunk: str) -> str:
    """Host and path of an address, without what opens it and what is asked of it."""
    found = _ADDRESS.search(chunk[: 2 * LONGEST_NAME])
    return found[1].rstrip("/" + _EDGES)[:LONGEST_NAME] if found else ""


def _is_path(chunk: str) -> bool:
    """Whether slashes make it a path: not "and/or", not "1/2", not a date."""
    if not any(map(str.isalpha, chunk)):
        return False
    if _DRIVE.fullmatch(chunk) or _ROOTED.fullmatch(chunk):
        return True
    if not _RELATIVE.fullmatch(chunk):
        return False
    return chunk[0] == "@" or chunk.count("/") > 1 or bool(_EXTENSION.search(chunk))


def _is_shortened(chunk: str) -> bool:
    """Whether it is words of prose cut short, such as "e.g" and "U.S.A"."""
    return "." in chunk and all(len(part) < 2 and part.isalpha() for part in chunk.split("."))

"""Takes secrets out of text before the text is written anywhere.

A secret is replaced by ``[redacted:<kind>:<fingerprint>]``. The fingerprint is keyed: the same
secret gives the same mark in one log, so a reader still sees that two lines speak of one key, and
nobody can test guesses against it without the key.

Nearly all text holds no secret, so the work is in finding that out cheaply. A piece of a few
kilobytes is looked at through three views (see ``secrets``), each made by one pass of C code; only
a format whose literal stands in a view has its pattern compiled and run, on that piece alone.

A mark is a wall: no match reaches into one or touches one. A value the rules refused is searched
again from its own start. Hence redacting redacted text changes nothing. No pattern crosses a line
end, hence a stream may be cut after any line, and a longer line where every match that began before
the cut is known in full. Private keys span lines and are found apart, by their rails.
The properties in ``tests/capture/test_redact.py`` hold all this against random texts and cuts.
"""

from __future__ import annotations

import re
from operator import itemgetter

from . import secrets
from .judge import plausible, regex
from .secrets import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hmac import HMAC

Span = tuple[int, int, str]
#: in the order hits are sorted by: where the secret starts, whether a rule had to be asked, minus
#: its end, the rank of its format, its kind; so the order does not depend on how it was found
_Hit = tuple[int, bool, int, int, str]

_PIECE = 4096
#: no match and no key block is longer: what stands this far from the end is final
WINDOW = 32_768
#: how much text already given back a look-behind or a mark may need to see
_BEHIND = 64
#: how far into a match the literal of its format stands at most
_EVIDENCE = 256

_RUN = b"a" * 16
_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-"
_SHAPE = bytes(97 if byte in _TOKEN else 32 for byte in range(256))
_SPLIT = bytes(95 if byte in b"-_. " else byte for byte in range(256))
_FOLD = bytes(range(256)).lower().replace(b":", b"=").replace(b">", b"=")
_DROPPED = b" \t\"'`\\[]_.-0123456789"
# The rails of a private key, and a line of one whose closing rail is missing.
_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
_FINISH = r"-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINE = (
    r"(?:\\[nrt]|[^A-Za-z0-9/=]){0,40}+(?:[0-9]{1,7}[^A-Za-z0-9+/=]{1,8})?"
    r"(?:[A-Za-z0-9+/]{16,16384}={0,2}|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]{0,100})"
)

_MARK = r"\[redacted:[a-z0-9-]{1,32}:[0-9a-f]{12}\]"

# Literals by their last characters before the delimiter, which is where the views are split.
_PAIR_ENDS: dict[bytes, list[tuple[bytes, Format]]] = {}
_RUN_ENDS: dict[bytes, list[tuple[bytes, Format]]] = {}
_PAIR_WORDS = tuple({word[:-1].encode() for row in secrets.PAIRS for word in row.literals})
_LAST_THREE = itemgetter(slice(-3, None))
_RARE = "J:_.-/LGKSBCzxqpTIEt"  # a single character is found, or found missing, at once
_INFIXES = [
    (min(word, key=lambda char: _RARE.find(char) % 99), word, row)
    for row in secrets.RUNS
    for word in row.literals
    if word[-1] not in "-_. "
]
for _row in secrets.PAIRS:
    for _word in _row.literals:
        _PAIR_ENDS.setdefault(_word[-4:-1].encode(), []).append((_word[:-1].encode(), _row))
for _row in secrets.RUNS:
    for _word in (word for word in _row.literals if word[-1] in "-_. "):
        _RUN_ENDS.setdefault(_word[-3:-1].encode(), []).append((_word.encode(), _row))
_COARSE = [
    (char, word, [row for row in secrets.PLAIN if word in row.literals[0]])
    for char, word in secrets.COARSE
]


def suspects(piece: str) -> list[Format]:
    """The formats whose literal stands in this piece, in table order; no other can match in it."""
    raw = piece.encode("utf-8", "surrogatepass")
    shape = raw.translate(_SHAPE) + b" "
    at = shape.find(_RUN)
    seen = _in_runs(raw, shape, at) if at >= 0 else []
    if ":" in piece or "=" in piece or ">" in piece:
        seen += _in_pairs(raw)
    for char, word, rows in _COARSE:
        if char in piece and word in piece:
            seen += [row for row in rows if any(literal in piece for literal in row.literals)]
    return seen


def _in_runs(raw: bytes, shape: bytes, at: int) -> list[Format]:
    parts: list[bytes] = []
    dotted: tuple[Format, ...] = ()
    while at >= 0:
        end = shape.find(b" ", at)
        parts.append(raw[at - 12 if at > 12 else 0 : end])
        if shape.startswith(_RUN, end + 9) and raw[end] == 46:
            dotted = secrets.DOTTED
        at = shape.find(_RUN, end)
    runs = b"\n".join(parts)
    text = runs.decode("latin-1")  # a str is searched faster than bytes
    seen = {row.rank: row for char, word, row in _INFIXES if char in text and word in text}
    for end_of_part in {part[-2:] for part in runs.translate(_SPLIT).split(b"_")}:
        for literal, row in _RUN_ENDS.get(end_of_part, ()):
            if literal in runs:
                seen[row.rank] = row
    return [seen[rank] for rank in sorted(seen)] + list(dotted)


def _in_pairs(raw: bytes) -> list[Format]:
    seen: dict[int, Format] = {}
    parts = raw.translate(_FOLD, _DROPPED).split(b"=")
    ends = list(map(_LAST_THREE, parts))
    if _PAIR_ENDS.keys().isdisjoint(ends):
        return []
    paired = (part for part, end in zip(parts, ends, strict=True) if end in _PAIR_ENDS)
    for part in {part[-16:] for part in paired if part.endswith(_PAIR_WORDS)}:
        for word, row in _PAIR_ENDS[part[-3:]]:
            if part.endswith(word):
                seen[row.rank] = row
    return [seen[rank] for rank in sorted(seen)]


class _Scan:
    """One pass over a text for everything that begins before ``cut``."""

    def __init__(self, text: str, cut: int, resume: dict[str, int]) -> None:
        self.text = text
        self.cut = cut
        #: kind -> where its search goes on, when its last match reached beyond a cut
        self.resume = resume
        self.hits: list[_Hit] = []
        #: a text that offers many values offers the same ones again and again
        self._verdicts: dict[tuple[str, str, str, str], bool] = {}

    def run(self, start: int, stop: int) -> None:
        """Looks from ``start`` to the cut; matches may reach to ``stop``."""
        for left, cut, right in _pieces(self.text, start, self.cut, stop):
            formats = suspects(self.text[left : min(right, cut + _EVIDENCE)])
            if formats:
                self._piece(formats, left, cut, right)

    def _piece(self, formats: list[Format], start: int, cut: int, stop: int) -> None:
        edge, wall = start, -1
        for left, right in _marks(self.text, max(0, start - _BEHIND), stop):
            if edge >= cut:
                return
            for row in formats if left > edge else ():
                self.row(row, edge, cut, left, (wall, left))
            if right >= edge:
                edge = wall = right
        for row in formats if edge < cut else ():
            self.row(row, edge, cut, stop, (wall, -1))

    def row(self, row: Format, start: int, cut: int, stop: int, walls: tuple[int, int]) -> None:
        """Adds the matches of one format that begin in ``[start, cut)`` and touch no wall."""
        text, rule, group = self.text, row.rule, row.group
        search = regex(row.pattern).search
        stop = min(stop, cut + row.longest + 1)
        at = max(start, self.resume.get(row.kind, 0))
        while at < cut:
            found = search(text, at, stop)
            if found is None:
                break
            begin, end = found.span()
            if begin >= cut:
                break
            left, right = found.span((found.lastindex or 0) if group < 0 else group)
            # the last: an escape cut in two
            if begin == walls[0] or end == walls[1] or (end + 1 == walls[1] and text[end] == "\\"):
                passes = False
            else:
                passes = not rule or self._passes(rule, left, right)
            if passes:
                self.hits.append((left, bool(rule), -right, row.rank, row.kind))
            at = end if passes or left == begin else left
        if at > cut:
            self.resume[row.kind] = at

    def _passes(self, rule: str, left: int, right: int) -> bool:
        text = self.text
        asked = (rule, text[left:right], text[left - 1 : left], text[right : right + 1])
        verdict = self._verdicts.get(asked)
        if verdict is None:
            _, value, before, after = asked
            verdict = plausible(rule, value, before in ('"', "'", "`"), after or "\n")
            self._verdicts[asked] = verdict
        return verdict


def _pieces(text: str, start: int, cut: int, stop: int) -> list[tuple[int, int, int]]:
    """Where to look, up to which start of a match, and how far it may reach: lines if it can be."""
    pieces = []
    while cut - start > _PIECE:
        end = reach = text.rfind("\n", start, start + _PIECE) + 1
        if not end:
            end = start + _PIECE
            reach = text.find("\n", end, end + WINDOW) + 1 or min(stop, end + WINDOW)
        pieces.append((start, end, reach))
        start = end
    return [*pieces, (start, cut, stop)]


def _marks(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The marks that stand in the text already."""
    any_mark = text.find("[redacted:", start, stop) >= 0
    return [one.span() for one in regex(_MARK).finditer(text, start, stop)] if any_mark else []


def _merged(hits: list[_Hit], done: int) -> list[Span]:
    """Of two hits that begin together the one known by its shape goes first, then the longer."""
    spans: list[Span] = []
    for left, _, minus_right, _, kind in sorted(hits):
        # a few characters beyond a known token are its surroundings, not a second secret
        if left >= done or -minus_right - done >= 8:
            spans.append((max(left, done), -minus_right, kind))
            done = -minus_right
    return spans


def _key_blocks(text: str, start: int, final: bool) -> tuple[list[_Hit], int]:
    """Private keys from ``start`` on, and where one begins whose end is not in the text yet."""
    blocks: list[_Hit] = []
    at = text.find("-----BEGIN ", start)
    while at >= 0:
        following = text.find("-----BEGIN ", at + 11)
        head = regex(_BEGIN).match(text, at)
        if head is not None:
            body = head.end()
            stop = min(at + WINDOW, following if following >= 0 else len(text))
            rail = regex(_FINISH).search(text, body, stop)
            if rail is None and not final and stop == len(text):
                return blocks, at
            end = rail.end() if rail else body
            while rail is None and (line := regex(_KEY_LINE).match(text, end, stop)):
                end = line.end()
            if regex(r"[A-Za-z0-9+/]{24}").search(text, body, end):
                blocks.append((at, False, -end, -1, "private-key"))
        at = following
    return blocks, -1


class Redactor:
    """Replaces secrets in text, and knows the files whose content is never kept."""

    def __init__(self, key: bytes, extra_paths: tuple[str, ...] = ()) -> None:
        self._key = key
        self._keyed: HMAC | None = None
        self._denied = secrets.DENIED
        for path in extra_paths:
            glob = re.escape(path.replace("\\", "/").lower()).replace(r"\*", "[^/]*")
            self._denied += f"|(?:^|[/:@]){glob}$"
        self._counts: dict[str, int] = {}

    def text(self, text: str) -> str:
        """The text without its secrets; the same object when there are none."""
        spans = self.spans(text)
        return self.replaced(text, 0, len(text), spans) if spans else text

    def spans(self, text: str) -> list[Span]:
        """Start, end and kind of every secret, in order."""
        scan = _Scan(text, len(text), {})
        if "-----BEGIN " in text:
            scan.hits += _key_blocks(text, 0, True)[0]
        scan.run(0, len(text))
        return _merged(scan.hits, 0) if scan.hits else []

    def stream(self) -> StreamRedactor:
        """A redactor for text that comes in chunks."""
        return StreamRedactor(self)

    def denied(self, path: str) -> bool:
        """Whether this file holds secrets, by its name."""
        plain = path.strip().strip("\"'`").replace("\\", "/").lower()
        return bool(regex(self._denied).search(plain)) and not regex(secrets.PUBLIC).search(plain)

    def mentions_denied(self, text: str) -> str | None:
        """The first word of a command that names such a file."""
        words = re.findall(r"""[^\s"'`|;&<>(){}=,]+""", text)
        return next((word for word in words if self.denied(word)), None)

    def withheld(self, text: str, path: str) -> str:
        """What is written instead of the content of such a file."""
        mark = self._mark(text, "denied-file")
        return f"{mark} {len(text)} characters of {self.text(path)} withheld"

    def counts(self) -> dict[str, int]:
        """How many secrets of each kind were replaced so far."""
        return dict(self._counts)

    def replaced(self, text: str, start: int, stop: int, spans: list[Span]) -> str:
        """``text[start:stop]`` with a mark in place of each span."""
        parts: list[str] = []
        marks: dict[tuple[str, str], str] = {}
        for left, right, kind in spans:
            secret = text[left:right]
            mark = marks.get((secret, kind))
            if mark is None:
                mark = marks[secret, kind] = self._mark(secret, kind)
            else:
                self._counts[kind] += 1
            parts += (text[start:left], mark)
            start = right
        parts.append(text[start:stop])
        return "".join(parts)

    def _mark(self, secret: str, kind: str) -> str:
        if self._keyed is None:
            import hmac  # only here: a hook that finds no secret does not pay for the import

            self._keyed = hmac.new(self._key, digestmod="sha256")
        self._counts[kind] = self._counts.get(kind, 0) + 1
        keyed = self._keyed.copy()
        keyed.update(secret.encode("utf-8", "surrogatepass"))
        return f"[redacted:{kind}:{keyed.hexdigest()[:12]}]"


def cut(text: str, most: int) -> str:
    """The beginning of a text that is yet to be redacted: what is cut off takes no secret's end along.

    Nobody would know the first half of a secret any more, nor one whose surroundings are gone.
    """
    if len(text) <= most:
        return text
    redactor = Redactor(b"")
    known = [span for span in redactor.spans(text[: most + WINDOW]) if span[0] < most]
    while known:
        seen = redactor.spans(text[:most])
        lost = [span[0] for span in known if span[0] < most and span not in seen]
        if not lost:
            break
        most = lost[0]
    return text[:most]


class StreamRedactor:
    """The same as ``Redactor.text`` for text in chunks, holding back no more than it must."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        #: text already looked at, and how far beyond it the last secret given back reached
        self._behind = ""
        self._ahead = 0
        self._later: list[_Hit] = []
        self._parts: list[str] = []
        self._size = 0
        self._line_ended = False
        self._in_key = False
        #: the size at which to look although no line has ended, or a private key is still open
        self._wake = 2 * WINDOW
        self._resume: dict[str, int] = {}

    def feed(self, chunk: str) -> str:
        """Takes a chunk, gives back what is final."""
        self._parts.append(chunk)
        self._size += len(chunk)
        self._line_ended = self._line_ended or "\n" in chunk
        if self._size < self._wake and (self._in_key or not self._line_ended):
            return ""
        return self._advance(final=False)

    def finish(self) -> str:
        """Gives back the rest."""
        return self._advance(final=True)

    def _advance(self, final: bool) -> str:
        text = self._behind + "".join(self._parts)
        start, length = len(self._behind), len(text)
        cut = length if final else max(start, text.rfind("\n") + 1, length - WINDOW)
        blocks, open_at = _key_blocks(text, start, final)
        self._in_key = open_at >= 0
        if self._in_key:
            cut = min(cut, open_at)
        scan = _Scan(text, cut, self._resume)
        scan.hits = [*self._later, *(hit for hit in blocks if hit[0] < cut)]
        scan.run(start, cut if text[cut - 1 : cut] == "\n" else length)
        given = start + self._ahead
        # a match may begin before the cut and its secret after it, beside others not yet found
        spans = _merged([hit for hit in scan.hits if hit[0] < cut], given)
        done = max(cut, given, *[right for _, right, _ in spans[-1:]])
        base = max(0, cut - _BEHIND)
        later = [hit for hit in scan.hits if hit[0] >= cut]
        self._later = [(hit[0] - base, hit[1], hit[2] + base, *hit[3:]) for hit in later]
        self._resume = {kind: at - base for kind, at in self._resume.items() if at > cut}
        self._behind, self._ahead = text[base:cut], done - cut
        self._keep(text[cut:])
        return self._redactor.replaced(text, given, done, spans)

    def _keep(self, rest: str) -> None:
        self._parts, self._size, self._line_ended = [rest], len(rest), "\n" in rest
        # doubling, so that a key that grows by single characters is not searched at each of them
        self._wake = 2 * (min(WINDOW, max(self._size, 1024)) if self._in_key else WINDOW)

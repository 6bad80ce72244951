"""Six weeks of a small team's work on a file-sharing service, as its agents recorded it.

Sessions of three agents with decisions, errors and their fixes, edits through tools, and a lot of talk
that shares words with all of that. A line says what it is and what was said; =name is what a test asks
for it by, !name the error it settles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.model.events import Event
from tests.recall.replays import DAY, MINUTE, Ticking


class Said(NamedTuple):
    """One line of a session."""

    #: user, assistant, call, result, decision, error, done
    what: str
    text: str
    #: by which a test asks for it
    name: str = ""
    #: the name of the error that this settles
    settles: str = ""


#: session, agent, day, lines; U user, A assistant, C call, R result, D decision, E error, T done
_SESSIONS: tuple[tuple[str, str, int, str], ...] = (
    (
        "auth",
        "architect",
        1,
        """
U Let us settle how people log in before we build anything else.
A I see two ways: signed tokens that the browser keeps, or sessions that the server keeps.
U Mobile needs to stay logged in for weeks.
A Both can do that. Tokens are harder to take back.
D login starts with JWT in an http-only cookie, fifteen minutes long, with a refresh token =jwt-in
C Write src/auth/token.ts
R wrote 84 lines to src/auth/token.ts
C Write src/auth/middleware.ts
R wrote 41 lines to src/auth/middleware.ts
U Please keep the login page simple, no third-party buttons for now.
A Understood, e-mail and password only.
C Bash npm test -- auth
R 14 passing, 0 failing
U Looks good. What about logging people out everywhere when they change their password?
A With tokens that needs a list of revoked ones, which we would have to look up for each request.
U Hmm, that defeats the purpose.
A It does. We can live with the fifteen minutes for now.
T log in with e-mail and password
U Great, thanks, see you tomorrow.
A Good night!
""",
    ),
    (
        "upload",
        "coder",
        4,
        """
U Today the uploader. Files up to five gigabytes, from bad connections.
A I would cut them into parts of eight megabytes and send each part on its own.
C Write src/upload/parts.ts
R wrote 120 lines to src/upload/parts.ts
C Write src/upload/client.ts
R wrote 96 lines to src/upload/client.ts
C Bash npm run upload -- big.iso
R uploading part 1 of 640 uploading part 2 of 640
E Error: read ECONNRESET at TLSWrap.onStreamRead while sending part 37 in src/upload/client.ts =reset
U It dies on the train, every time.
A The proxy closes idle connections after sixty seconds and we keep ours for two minutes.
C Edit src/upload/client.ts keepAliveMsecs: 30000
R edited src/upload/client.ts
C Write src/net/backoff.ts
R wrote 52 lines to src/net/backoff.ts
A src/net/backoff.ts now holds the retry logic: five attempts, exponential, with jitter. =retry-file
D fixed ECONNRESET in the uploader: keep-alive of 30 s, below the proxy's, retry each part =fix1 !reset
C Bash npm run upload -- big.iso
R uploaded 640 parts in 312 s
T upload of large files in parts
U Wonderful. Let us call it a day.
A Agreed, the uploader can rest.
""",
    ),
    (
        "storage",
        "architect",
        8,
        """
U Where do we keep the files themselves? The disk of the server fills up.
A An object store. There are the large clouds, and some one can run oneself.
U Legal says the data has to stay in the European Union.
A Then either Frankfurt, or our own machines in Vienna.
U What would our own cost?
A About 140 euros a month for 20 terabytes, and somebody who looks after it.
D store files in MinIO on our own machines in Vienna, because legal wants the data in the EU =minio
C Write deploy/minio.yml
R wrote 63 lines to deploy/minio.yml
C Write src/storage/bucket.ts
R wrote 77 lines to src/storage/bucket.ts
U How do we name the objects?
A By the hash of what is in them, then equal files are stored once.
D objects are named by the SHA-256 of their content, so equal files are kept once =hash-names
C Bash npm test -- storage
R 22 passing, 0 failing
U Can one person find out that another has the same file?
A Only if we told them that it was there already. We do not; the upload always runs.
U Good, keep it that way.
T files are kept in an object store
""",
    ),
    (
        "database",
        "coder",
        12,
        """
U The migration of last night did not finish.
A Let me look at the log of the database.
C Bash psql -c 'select * from pg_locks where not granted'
R 3 rows: AccessExclusiveLock on shares waits for pid 4711
E ERROR: deadlock detected while altering table shares, migration 0042_add_expiry.sql =deadlock
U People could not open shared links for ten minutes.
A The migration takes a lock on the whole table while the nightly report reads it.
C Edit migrations/0042_add_expiry.sql set lock_timeout = '2s'
R edited migrations/0042_add_expiry.sql
D migrations run with a lock_timeout of two seconds, never beside the nightly report =fix2 !deadlock
C Bash npm run migrate
R migrated 0042 in 1.4 s
U And which version do we run anyway?
A 15 in production and 16 on my side.
U Let us not differ. What speaks against 18?
A Nothing that I found, the extensions are there.
D we move every environment to PostgreSQL 18 in March =postgres
T migration 0042 adds the expiry of shares
U Thanks for staying late.
A Any time.
""",
    ),
    (
        "drop-jwt",
        "architect",
        17,
        """
U A customer lost a laptop and we could not throw the thief out.
A That is the price of the tokens: until they run out they are good.
U Fifteen minutes, you said.
A The refresh token lives for thirty days and we have no list of revoked ones.
U I do not want a list of revoked tokens.
A Then we should not use tokens. A session in the database can be ended at once.
D we drop JWT and keep sessions in the database, because a stolen token could not be revoked =jwt-out
C Edit src/auth/middleware.ts loadSession(request.cookies.sid)
R edited src/auth/middleware.ts
C Bash git rm src/auth/token.ts
R removed src/auth/token.ts
C Write src/auth/sessions.ts
R wrote 88 lines to src/auth/sessions.ts
C Bash npm test -- auth
R 19 passing, 0 failing
U And how much slower is it?
A A lookup by primary key, 0.3 ms. Nobody will notice.
T log out everywhere when the password changes
U Then I can call the customer back.
A Tell them it takes effect at once.
""",
    ),
    (
        "frontend",
        "critic",
        22,
        """
U Please review what the page of shared folders does.
A It renders every row, and some people have nine thousand files.
C Read web/FolderView.tsx
R export function FolderView({ files }: Props) { return files.map(file => <Row file={file} />) }
A Only the rows one can see should be there.
D the folder page renders only visible rows, with react-window =virtual
C Edit web/FolderView.tsx FixedSizeList height={600}
R edited web/FolderView.tsx
C Bash npm run build
E TS2345: Argument of type 'string | null' is not assignable to type 'string' in web/share.ts =ts2345
A getUserLocale returns null in private windows.
C Edit web/share.ts getUserLocale() ?? 'en'
R edited web/share.ts
D fixed TS2345 in web/share.ts by falling back to English when there is no locale =ts-fix !ts2345
C Bash npm run build
R built in 9.1 s
U The icons look blurry on my screen.
A They are bitmaps. I can draw them as SVG.
U Later, it is not urgent.
A I wrote it down.
""",
    ),
    (
        "billing",
        "coder",
        29,
        """
U Invoices went out twice this morning.
A Let me see what the worker did.
C Bash journalctl -u billing --since today
R 06:00:01 sending invoice 9001 06:00:09 worker restarted 06:00:10 sending invoice 9001
E invoice 9001 was sent twice after the worker restarted in the middle of a batch =twice
A The worker marks a batch as done at its end, so a restart begins it anew.
C Edit src/billing/worker.ts markSent(invoice.id)
R edited src/billing/worker.ts
D each invoice gets an idempotency key, and the mail service refuses a second one =twice-fix !twice
C Bash npm test -- billing
R 31 passing, 0 failing
U What do we tell those who got two?
A That the second one is void. I can draft the mail.
U Please do, and keep it short.
A "You received your invoice twice today. Please ignore the second one. We are sorry."
U Perfect.
T invoices are sent once
U How are taxes rounded, by the way?
A Per line, half up, as the accountant asked.
D taxes are rounded per line, half up =rounding
""",
    ),
    (
        "search",
        "coder",
        36,
        """
U People want to search inside their documents.
A PostgreSQL can do that with tsvector, or we run a search engine beside it.
U Nothing more to run, please.
D full-text search uses tsvector in PostgreSQL, no separate search engine =tsvector
C Write src/search/index.ts
R wrote 70 lines to src/search/index.ts
C Bash npm run reindex
R indexed 18000 documents in 240 s
T search inside documents
E OutOfMemoryError: the thumbnail worker was killed at 512 MB while reading a 300-page PDF =oom
A That one is new. The preview of page one loads the whole file.
U Leave it for tomorrow, I have to go.
A I leave it open then.
C Bash npm test -- search
R 12 passing, 0 failing
U One more thing: the thumbnails of photos are fine, are they?
A Yes, it is only PDF.
U See you.
A See you.
""",
    ),
)

#: what was learned for good: text, and its fields
MEMORIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Use two spaces for indentation in TypeScript", {"category": "rules"}),
    ("Never log e-mail addresses of customers", {"category": "rules"}),
    ("Ana prefers short answers", {"category": "preferences", "scope": "user"}),
    ("Ana likes dark themes", {"category": "preferences", "scope": "user"}),
    ("", {"key": "node version", "value": "22"}),
    ("", {"key": "production host", "value": "heron.example"}),
    ("", {"key": "staging host", "value": "magpie.example"}),
    ("", {"key": "package manager", "value": "npm"}),
    ("", {"key": "upload part size", "value": "8 MiB"}),
    ("The nightly report starts at 02:30 UTC", {"tags": ["report"]}),
    ("The proxy in front of the uploader is HAProxy", {"tags": ["network"]}),
    ("Legal reviews every new processor of personal data", {"tags": ["legal"]}),
    ("Releases happen on Tuesday mornings", {"tags": ["release"]}),
    ("The mobile app is written in Kotlin and Swift", {"tags": ["mobile"]}),
    ("Support answers within one working day", {"tags": ["support"]}),
    ("The accountant's name is Mrs. Okafor", {"tags": ["billing"]}),
    ("Backups of the database go to Graz every night", {"tags": ["backup"]}),
    ("Feature flags live in config/flags.yml", {"tags": ["flags"]}),
    ("The on-call phone is passed on every Monday", {"tags": ["on-call"]}),
    ("Load tests run with k6 against staging", {"tags": ["load"]}),
    ("Icons should be redrawn as SVG", {"tags": ["design"]}),
    ("The design system is documented in Figma", {"tags": ["design"]}),
    ("Run the linter, then the tests, then push", {"kind": "workflow"}),
    ("A repository hides the database behind plain functions", {"kind": "pattern"}),
    ("The first customer was a school in Linz", {"kind": "episode"}),
)
_WHAT = {"U": "user", "A": "assistant", "C": "call", "R": "result", "D": "decision"} | {
    "E": "error",
    "T": "done",
}


def lines(text: str) -> Iterator[Said]:
    """The lines of a session."""
    for line in text.strip().splitlines():
        letter, _, rest = line.partition(" ")
        rest, _, settles = rest.partition(" !")
        said, _, name = rest.rpartition(" =") if " =" in rest else (rest, "", "")
        if " " in name:  # an equals sign in what was said
            said, name = rest, ""
        yield Said(_WHAT[letter], said, name, settles)


def written(hf: Holdfast, clock: Ticking) -> dict[str, str]:
    """Live through all of it; the ids of what has a name, and of memories by their key or text."""
    named: dict[str, str] = {}
    for session, agent, day, text in _SESSIONS:
        s = hf.session(agent=agent, session_id=session)
        for n, said in enumerate(lines(text)):
            clock.minutes = day * DAY / MINUTE + n
            event = _say(s, said, named)
            if said.name:
                named[said.name] = event
        s.end()
    clock.minutes = 38 * DAY / MINUTE
    for text, fields in MEMORIES:
        named[fields.get("key") or text] = hf.remember(text, **fields).id
    clock.minutes = 40 * DAY / MINUTE
    return named


def _say(s: Session, said: Said, named: dict[str, str]) -> str:
    if said.what == "call":
        tool, _, about = said.text.partition(" ")
        if tool == "Bash":
            return s.tool_call(tool, {"command": about}).event_id
        path, _, change = about.partition(" ")
        return s.tool_call(tool, {"file_path": path, "new_string": change}).event_id
    if said.what == "result":
        return s.tool_result("Bash", said.text).event_id
    if said.what == "decision":
        more = {"sources": (named[said.settles],)} if said.settles else {}
        return s.decision(said.text, **more).event_id
    verbs: dict[str, Callable[[str], Event]] = {
        "user": s.user,
        "assistant": s.assistant,
        "error": s.error,
        "done": s.task_done,
    }
    return verbs[said.what](said.text).event_id

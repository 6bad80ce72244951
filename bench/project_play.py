"""The play: five sessions of the invoice project, a second agent beside them, and everything that dies.

A hook that tells of a decision or asks for one is not killed: what is killed may miss. Everything else
may die at any moment.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.project_host import Host, Tool, session_id
from bench.project_machine import Machine
from bench.project_story import FACTS, broken, work

#: with what a model begins its work on a question
LOOKING = ((Tool("Bash", {"command": "git status --short"}, {"stdout": "", "stderr": ""}),),)
THINKS = 1.0
Count = Callable[[str], int]


@dataclass(frozen=True)
class Asked:
    """One question about something decided before."""

    fact: str
    when: str
    #: somebody was there to answer
    attended: bool
    told: bool
    #: at the latest when the model used its first tool
    in_the_turn: bool
    #: the same window without hooks
    alone: bool
    #: in as many tokens of the raw transcript's end as hooks gave in this window; in 4,000
    tail: bool
    longer_tail: bool


@dataclass
class Play:
    """One host's part of the play."""

    host: Host
    count: Count
    #: seconds a model takes before it uses its first tool
    thinks: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    worked: int = 0

    def plant(self, *names: str) -> None:
        """Decide something."""
        for name in names:
            fact = FACTS[name]
            tools = broken(fact) if fact.error else ()
            self.host.prompt(fact.said, fact.answer, tools, safe=True)

    def work(self, turns: int) -> None:
        """Do something else."""
        for _ in range(turns):
            self.host.prompt(*work(self.worked))
            self.worked += 1

    def ask(self, when: str, *names: str) -> None:
        """Ask about what was decided, and look whether the model could know."""
        for name in names:
            needle = FACTS[name].needle
            before = "\n".join(self.host.transcript)
            attended = bool(self.host.machine.answers())
            window = self.host.prompt(
                FACTS[name].asked, "Done, as we agreed.", LOOKING, safe=True, thinks=self.thinks
            )
            given = sum(self.count(piece.text) for piece in window.pieces if piece.given)
            self.asked.append(
                Asked(
                    fact=name,
                    when=when,
                    attended=attended,
                    told=needle in window.sent[-2],
                    in_the_turn=needle in window.sent[-1],
                    alone=needle in window.text(given=False),
                    tail=needle in self._tail(before, given),
                    longer_tail=needle in self._tail(before, 4_000),
                )
            )

    def _tail(self, text: str, tokens: int) -> str:
        """So many tokens of its end."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.count(text[len(text) - middle :]) <= tokens:
                low = middle
            else:
                high = middle - 1
        return text[len(text) - low :]


def played(machine: Machine, count: Count, seed: int, killed: float) -> list[Play]:
    """All five sessions, and the agent beside the third."""
    main = Play(Host(machine, random.Random(seed), killed), count, THINKS)
    one(main)
    two(main)
    another = Host(machine, random.Random(seed + 1), killed, transcript=main.host.transcript)
    beside = Play(another, count, THINKS)
    thread = threading.Thread(target=side, args=(beside,), name="second agent")
    thread.start()
    three(main)
    thread.join()
    three_goes_on(main)
    four(main)
    five(main)
    return [main, beside]


def one(play: Play) -> None:
    """What holds for the whole project is decided."""
    play.host.start(session_id("one"))
    play.plant("numbers", "money")
    play.work(3)
    play.plant("vat")
    play.host.machine.kill_resident()
    play.work(2)
    play.plant("database", "style")
    play.work(3)
    play.host.end()


def two(play: Play) -> None:
    """It begins with nobody there; the window is compacted in the middle."""
    host, machine = play.host, play.host.machine
    machine.night_falls()
    machine.kill_resident()
    host.start(session_id("two"))
    play.ask("next session", "numbers")
    play.plant("zone", "fonts")
    play.work(4)
    play.plant("retry")
    play.work(2)
    host.compact()
    play.ask("after compaction", "zone", "fonts", "money", "retry")
    machine.lose_index()
    play.plant("deadlock")
    play.work(3)
    play.plant("reminders")
    play.work(2)
    host.end()


def side(play: Play) -> None:
    """A second agent works on the same project at the same time."""
    play.worked = 200
    play.host.start(session_id("beside"))
    play.work(2)
    play.ask("second agent", "database", "deadlock")
    play.work(2)
    play.host.end("other")


def three(play: Play) -> None:
    """What the first session decided is asked for."""
    host, machine = play.host, play.host.machine
    host.start(session_id("three"))
    play.ask("session three", "vat", "database", "retry", "deadlock", "money")
    listing = Tool("Glob", {"pattern": "**/*.py"}, {"filenames": ["settings.py", "pdf/footer.py"]})
    host.sub_agent("Count the modules", [listing, listing], "There are two modules.")
    machine.lose_socket()
    play.work(2)
    play.ask("session three", "reminders", "style")
    host.task("Write the reminder job")
    play.plant("archive")
    machine.spoil_cache()
    play.work(1)
    machine.init_again()
    play.plant("commits")
    play.work(3)
    host.end()


def three_goes_on(play: Play) -> None:
    """The same session, resumed on the next day, then compacted."""
    play.host.machine.night_falls()
    play.host.start(session_id("three"), "resume")
    play.work(1)
    play.ask("after resume", "zone", "fonts")
    play.work(4)
    play.host.compact()
    play.ask("resumed, compacted", "archive", "commits", "vat", "numbers")
    play.host.end("other")


def four(play: Play) -> None:
    """Begun, cleared, and the resident dies under a question."""
    host, machine = play.host, play.host.machine
    host.start(session_id("four"))
    play.work(1)
    play.plant("export")
    play.work(2)
    host.clear(session_id("cleared"))
    play.ask("after clear", "export", "commits", "archive")
    machine.kill_resident()
    play.ask("resident just killed", "money")
    play.work(1)
    machine.lose_socket()
    play.ask("socket just gone", "reminders")
    play.work(2)
    host.end()


def five(play: Play) -> None:
    """Nothing derived is left; the log is."""
    machine = play.host.machine
    machine.night_falls()
    machine.kill_resident()
    machine.lose_index()
    play.host.start(session_id("five"))
    play.work(1)
    play.ask("index was lost", "numbers", "fonts", "export", "zone", "style")
    play.host.end("other")

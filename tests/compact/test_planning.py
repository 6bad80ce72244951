"""What stands in a window after a compaction: everything has a place, and it fits."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.compact import naming, planning
from holdfast.compact.naming import Sheet
from holdfast.compact.strategies import decided
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Facts, Past, Span
from holdfast.model.events import Event
from tests.compact.happenings import conversations, count, event, texts
from tests.compact.test_deciding import task
from tests.property.effort import examples

names = st.lists(texts.map(lambda text: text[:30]), max_size=12).map(tuple)
some_facts = st.builds(
    Facts, paths=names, commands=names, errors=names, decisions=names, numbers=names, words=names
)


def planned(events: list[Event], room: int) -> Past:
    given_ = task(events, room, "adaptive", "parser login")
    there = {one.event_seq: one for one in events}
    verdicts = decided(given_)
    shorts = planning.Shorts(room=10_000, count=count)
    return planning.planned(
        given_.chunks, verdicts, there, planning.by_rule(count), CompactSettings(), shorts
    )


@settings(max_examples=examples(120))
@given(conversations(), st.integers(0, 600), st.integers(0, 300), st.integers(0, 100))
def test_a_summary_is_made_only_where_it_stays_and_the_latest_first(
    events: list[Event], room: int, space: int, lines: int
) -> None:
    asked: list[tuple[int, int]] = []

    def summarize(of: Sequence[Event], most: int) -> tuple[str, str]:
        asked.append((of[0].event_seq, most))
        return "a summary " * (most // 4), "m"

    given_ = task(events, room, "recursive_summarization", "parser login")
    verdicts = decided(given_)
    there = {one.event_seq: one for one in events}
    few = CompactSettings(span_tokens=60)
    earlier = (Span(first=0, last=0, tokens=40, text="earlier on"),)
    new = planning.planned(
        given_.chunks,
        verdicts,
        there,
        summarize,
        few,
        planning.Shorts(room=space, count=count, earlier=earlier),
    )
    both = planning.joined(Past(shorts=earlier), new)
    left = planning.settled(both, planning.Space(room=space + lines, lines=lines, span=60), count)
    never = {span.first for span in new.shorts if span.stays}
    others = [one for one in asked if one[0] not in never]
    assert asked == [*(one for one in asked if one[0] in never), *others]
    assert others == sorted(others, reverse=True)
    short = {span.first for span in left.shorts if span.by == "m"}
    assert {first for first, _ in others} == short - never


@settings(max_examples=examples(120))
@given(conversations(), st.integers(0, 500))
def test_every_event_is_kept_or_lies_in_a_span(events: list[Event], room: int) -> None:
    past = planned(events, room)
    spans = [*past.lines, *past.shorts]
    for one in events:
        inside = [span for span in spans if span.first <= one.event_seq <= span.last]
        assert (one.event_seq in past.kept) + len(inside) == 1
    assert list(past.kept) == sorted(past.kept)


@settings(max_examples=examples(120))
@given(conversations(), st.integers(0, 500), st.integers(0, 400), st.integers(0, 200))
def test_spans_take_no_more_than_their_room(
    events: list[Event], first: int, room: int, lines: int
) -> None:
    past = planned(events, first)
    space = planning.Space(room=max(room, lines), lines=lines, span=2_000)
    small = planning.settled(past, space, count)
    before = {(span.first, span.last) for span in (*past.lines, *past.shorts)}
    after = [*small.lines, *small.shorts]
    assert small.kept == past.kept
    assert sum(count(span.told) for span in after) <= max(room, lines)
    for start, end in before:
        assert any(span.first <= start and end <= span.last for span in after)
    again = planning.settled(small, space, count)
    assert again == small


@settings(max_examples=examples(80))
@given(conversations(), conversations(), st.integers(0, 300))
def test_what_an_earlier_compaction_left_stays_reachable(
    old: list[Event], new: list[Event], room: int
) -> None:
    shift = len(old)
    later = [replace(one, event_seq=one.event_seq + shift) for one in new]
    earlier, now = planned(old, room), planned(later, room)
    space = planning.Space(room=room, lines=room // 3, span=2_000)
    both = planning.settled(planning.joined(earlier, now), space, count)
    spans = [*both.lines, *both.shorts]
    for span in (*earlier.lines, *earlier.shorts, *now.lines, *now.shorts):
        assert any(one.first <= span.first and span.last <= one.last for one in spans)


@given(st.lists(some_facts, max_size=6), st.integers(0, 120))
def test_lines_name_what_is_there_and_no_more_than_fits(facts: list[Facts], room: int) -> None:
    made = naming.lines(facts, Sheet(room=room), count)
    assert len(made) == len(facts)
    assert sum(count(f"; {one}") for one in made if one) <= max(0, room)
    for of, line in zip(facts, made, strict=True):
        known = {name for sort in Facts.__struct_fields__ for name in getattr(of, sort)}
        joined = "; ".join(sorted(known))
        assert not line or all(part in joined for part in line.split("; "))


@given(st.lists(some_facts, max_size=4), st.lists(some_facts, max_size=4), texts)
def test_what_is_visible_needs_no_name_behind_a_summary(
    lines: list[Facts], shorts: list[Facts], visible: str
) -> None:
    made = naming.lines(lines, Sheet(room=400), count, beside=shorts, visible=visible)
    assert len(made) == len(lines) + len(shorts)
    told = [name for text in made[len(lines) :] for name in text.split("; ") if text]
    assert not any(naming.stands(name, visible) for name in told if "; " not in name and name)


def test_a_line_that_needs_little_leaves_its_room_to_one_that_needs_more() -> None:
    few = Facts(paths=("a.py",))
    many = Facts(paths=tuple(f"src/part_{n}.py" for n in range(12)))
    whole = sum(count(f"; {name}") for name in (*few.paths, *many.paths))
    first, second = naming.lines([many, few], Sheet(room=whole), count)
    assert first.split("; ") == list(many.paths)
    assert second == "a.py"


def test_a_name_inside_a_longer_one_is_not_said_twice() -> None:
    of = Facts(paths=("src/cart.py", "cart.py"), commands=("pytest src/cart.py -q",))
    short = naming.lines([of], Sheet(room=count("; pytest src/cart.py -q")), count)
    assert short == ["pytest src/cart.py -q"]


def test_commands_are_found_in_what_people_write_and_no_code_is_taken_for_one() -> None:
    text = (
        "Try this:\n```\nls -F\nAUTHORS.rst\n```\nthen\n```sh\npytest -q tests\n```\n"
        "$ make install\n```\nimport os\n```\n```python\nopen it\n```\n```\nx = 5\n```\n"
    )
    found = naming.facts([event(1, "user_message", {"text": text})])
    assert found.commands == ("ls -F", "pytest -q tests", "make install")


def test_a_file_with_a_hyphen_is_a_path_and_a_lone_digit_no_number() -> None:
    text = "azure-pipelines.yml has 3 stages, costs 12.50 and takes 9 minutes; see step 4."
    found = naming.facts([event(1, "model_message", {"text": text})])
    assert "azure-pipelines.yml" in found.paths
    assert "costs 12.50" in found.numbers
    alone = naming.facts([event(1, "model_message", {"text": "1 | 2 | 7 | 4096"})])
    assert alone.numbers == ("4096",)
    assert not {"1", "2", "7"} & {*alone.words, *found.words}


def test_exact_names_come_before_words_and_each_once() -> None:
    said = [
        event(1, "tool_call", {"tool": "Bash", "input": {"command": "make test\necho done"}}),
        event(
            2, "tool_result", {"tool": "Bash", "text": "src/cart.py:3\nKeyError: 'user'\n7 failed"}
        ),
        event(3, "tool_call", {"tool": "Read", "input": {"file_path": "src/cart.py"}}),
        event(4, "decision", {"text": "carts expire after an hour"}),
    ]
    facts = naming.facts(said)
    assert facts.commands == ("make test", "Read src/cart.py")
    assert "src/cart.py" in facts.paths
    assert facts.errors == ("KeyError: 'user'",)
    assert facts.decisions == ("carts expire after an hour",)
    first, second = naming.lines([facts, facts], Sheet(room=200), count)
    for name in ("make test", "src/cart.py", "KeyError: 'user'", "carts expire after an hour"):
        assert name in first
    assert second


@given(conversations(), st.integers(1, 200))
def test_a_summary_by_rule_fits_and_says_nothing_of_its_own(events: list[Event], room: int) -> None:
    found = planning.by_rule(count)(events, room) if events else None
    if found is not None:
        text, by = found
        assert by == "rule"
        assert 0 < count(text) <= room


def test_spans_are_no_longer_than_can_be_shown() -> None:
    events = [event(n + 1, "model_message", {"text": f"step {n} " * 30}) for n in range(60)]
    past = planned(events, 50)
    most = CompactSettings().span_tokens
    assert len(past.lines) > 1
    assert all(span.tokens <= most or span.first == span.last for span in past.lines)


def test_facts_of_a_line_stay_bounded_however_many_compactions_there_were() -> None:
    many = Facts(
        paths=tuple(f"src/module_{n}/file_{n}.py" for n in range(60)),
        words=tuple(f"word{n}" for n in range(60)),
    )
    lines = tuple(Span(first=n, last=n, tokens=5_000, facts=many) for n in range(1, 60))
    space = planning.Space(room=600, lines=600, span=2_000)
    found = planning.settled(Past(lines=lines), space, lambda text: len(text) // 4)
    for line in found.lines:
        assert line.facts.paths[0] == many.paths[0]
        assert sum(map(len, line.facts.paths)) <= 16 * max(16, 600 // len(found.lines))


def test_no_line_is_longer_than_one_may_be() -> None:
    many = Facts(paths=tuple(f"src/part_{n}/file_{n}.py" for n in range(60)))
    few = Facts(paths=("src/cart.py",))
    long, short = naming.lines([many, few], Sheet(room=10_000, most=40), count)
    assert 20 < count(f"; {long}") <= 40
    assert short == "src/cart.py"

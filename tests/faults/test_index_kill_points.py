"""kill -9 wherever something derived is written: the next process answers right and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import need
from tests.faults.index_children import OPERATIONS
from tests.faults.start import start


@pytest.mark.tools
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_kill_at_any_call_that_writes_what_is_derived_costs_nothing(
    place: Path, name: str
) -> None:
    need("strace")
    found = start("index_children", what="killed", name=name, place=str(place))
    assert not found["wrong"], "\n".join(found["wrong"][:20])
    assert found["kills"] >= min(found["points"], 6) - 1, f"hardly anybody was killed: {found}"


def test_a_kill_between_an_event_and_the_index_costs_nothing(place: Path) -> None:
    found = start(
        "index_children", what="killed before the index", home=str(place / "home"), turns=12
    )
    assert found["recorded"] == 48
    assert not found["wrong"], "\n".join(found["wrong"])

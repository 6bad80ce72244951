"""Several processes, objects, threads and forks on one index: each sees what it wrote, and all agree."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.faults.index_children import fill, ongoing, opened, sees, sound, wrong
from tests.faults.start import start


def assert_right(found: dict[str, Any]) -> None:
    """Nobody was told anything that is not so."""
    assert not found["wrong"], "\n".join(found["wrong"])


def test_processes_that_record_and_look_each_see_a_fold_of_the_log(place: Path) -> None:
    found = start(
        "index_children", what="together", home=str(place / "home"), processes=4, turns=40
    )
    assert_right(found)
    assert found["decisions"] == 4 * 40


def test_a_second_object_in_one_process_does_not_spoil_the_first(place: Path) -> None:
    assert_right(start("index_children", what="second object", home=str(place / "home")))


def test_a_fork_goes_on_with_an_open_project_beside_its_parent(place: Path) -> None:
    assert_right(start("index_children", what="forked", home=str(place / "home")))


def test_a_fork_in_the_middle_of_a_read_can_begin_with_a_rebuild(place: Path) -> None:
    assert_right(start("index_children", what="forked to rebuild", home=str(place / "home")))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_copy_made_file_by_file_while_somebody_writes_answers_right(
    place: Path, seed: int
) -> None:
    found = start(
        "index_children",
        what="copied while written",
        home=str(place / "home"),
        copies=30,
        seed=seed,
    )
    assert_right(found)
    assert found["recorded"] > 30, "nothing was written meanwhile"


def test_threads_that_share_one_project_each_see_what_they_wrote(place: Path) -> None:
    said: list[str] = []
    with opened(place / "home") as hf:
        fill(hf)

        def work(name: str) -> None:
            try:
                session = ongoing(hf, name)
                for n in range(15):
                    event = session.decision(f"{name} {n}")
                    said.extend(sees(hf, event))
                    texts = [decision.text for decision in session.state().decisions]
                    if texts != [f"{name} {m}" for m in range(n + 1)]:
                        said.append(f"{name} sees {texts}")
            except Exception as exc:  # noqa: BLE001  (a thread's end is not seen otherwise)
                said.append(f"{name}: {type(exc).__name__}: {exc}")

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said += wrong(hf, "afterwards")
        sound(hf)
    assert not said, "\n".join(said[:20])

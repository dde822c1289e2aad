"""The store: what replaces what, nothing lost, every damage named."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import RunError
from hatscore.grading.answer import Gold
from hatscore.sampling import Cell, Completion, Store, Task
from hatscore.sampling.budget import Usage
from hatscore.sampling.store import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

OTHERS = {"en": tuple(f"Town {i}" for i in range(300)), "sr": ("Београд", "Нови Сад")}
PROMPT = Prompt("completion", "Питање: 2+2?\n", ("\n", "Питање:"), 24)


def task(item: str = "1", language: str = "en", *, benchmark: str = "b", repeats: int = 3) -> Task:
    gold = Gold(
        "name", "Rome", language, "en", ("a", "b"), ("A", "B"), ("B",),
        {"en": ("Rome", "Roma")}, OTHERS,
    )  # fmt: skip
    return Task(
        benchmark, Item(item, language, "en", f"Q{item}?", gold, "g", 0.25), PROMPT, repeats
    )


def content(store: Store) -> list[tuple[Any, ...]]:
    return [(item.cell, r.repeat, r.text, r.error) for item, r in store.rows()]


def test_everything_comes_back(tmp_path: Path) -> None:
    reply = Completion("4\0 ", "length", "думам", 12, 3, 2, "m-1", 0.5)
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items([task()])
        store.put(Cell("b", "1", "en"), 2, reply, seed=2**31 - 1)
    with Store(tmp_path / "r.sqlite", read_only=True) as store:
        ((item, row),) = store.rows()
    assert (row.text, row.reasoning, row.finish_reason, row.error) == (
        "4\0 ",
        "думам",
        "length",
        None,
    )
    assert (row.input_tokens, row.output_tokens, row.reasoning_tokens) == (12, 3, 2)
    assert (row.repeat, row.latency_s, row.model, row.seed) == (2, 0.5, "m-1", 2**31 - 1)
    assert row.created_at.endswith("+00:00")
    assert (row.reply.text, row.reply.finish_reason, row.reply.error) == ("4\0 ", "length", None)
    asked = task()
    assert item.gold == asked.item.gold
    assert item.prompt == asked.prompt
    assert (item.question, item.source_language) == ("Q1?", "en")
    assert (item.group, item.chance) == ("g", 0.25)


def test_group_defaults_to_the_item(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items([Task("b", Item("7", "en", "en", "Q", Gold("number", "1")), PROMPT, 1)])
        assert [item.group for item in store.items()] == ["7"]


def test_large_mappings_are_stored_once_and_shared_on_reading(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with Store(path) as store:
        store.put_items(task(str(i)) for i in range(200))
    with Store(path) as store:  # another process would encode them again
        store.put_items(task(str(i)) for i in range(200, 400))
        items = list(store.items())
    assert len(items) == 400
    assert all(item.gold.others is items[0].gold.others for item in items)
    assert items[0].gold.others == OTHERS
    assert path.stat().st_size < 300_000  # 400 copies would take 1.5 MB
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM shared").fetchone() == (1,)
    connection.close()


def test_a_lone_surrogate_is_stored(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items([task()])
        store.put(Cell("b", "1", "en"), 0, Completion("ok \ud83d \U0001f600"), seed=None)
        assert content(store)[0][2] == "ok \ufffd \U0001f600"


def test_a_reply_without_its_item_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.sqlite")
    store.put(Cell("b", "1", "en"), 0, Completion("x"), seed=None)
    with pytest.raises(RunError, match=r"b/1/en, which is no item of this run"):
        store.close()


CELLS = [Cell("b", "1", "en"), Cell("b", "1", "sr"), Cell("c", "2", "en")]
TASKS = [task("1", "en"), task("1", "sr"), task("2", "en", benchmark="c")]
WRITES = st.lists(
    st.tuples(
        st.sampled_from(CELLS),
        st.integers(0, 3),
        st.one_of(st.none(), st.text(max_size=5)),  # None is an error
        st.booleans(),  # commit afterwards
    ),
    max_size=25,
)


def write(store: Store, writes: list[tuple[Cell, int, str | None, bool]]) -> None:
    for number, (cell, repeat, text, commit) in enumerate(writes):
        error = f"e{number}" if text is None else None
        store.put(cell, repeat, Completion(text or "", error=error), seed=None)
        if commit:
            store.flush()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(WRITES)
def test_first_good_reply_wins_else_the_last_error(
    writes: list[tuple[Cell, int, str | None, bool]],
) -> None:
    expected: dict[tuple[Cell, int], tuple[str, str | None]] = {}
    for number, (cell, repeat, text, _) in enumerate(writes):
        held = expected.get((cell, repeat))
        if held is None or held[1] is not None:
            error = f"e{number}" if text is None else None
            expected[cell, repeat] = (text or "", error)
    with tempfile.TemporaryDirectory() as directory, Store(Path(directory) / "r") as store:
        store.put_items(TASKS)
        write(store, writes)
        found = {(cell, repeat): (text, error) for cell, repeat, text, error in content(store)}
        assert found == {
            key: (text.encode("utf-8", "replace").decode(), error)
            for key, (text, error) in expected.items()
        }
        assert store.good_repeats() == {
            cell: {r for (c, r), (_, e) in expected.items() if c == cell and e is None}
            for cell in {c for (c, _), (_, e) in expected.items() if e is None}
        }


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.data())
def test_order_of_writes_does_not_matter(data: st.DataObject) -> None:
    good = [
        (cell, repeat, f"{cell.language}{repeat}", False) for cell in CELLS for repeat in (0, 1)
    ]
    bad = [(cell, repeat, None, False) for cell in CELLS for repeat in (0, 1)]
    writes = data.draw(st.permutations(good + bad))
    with tempfile.TemporaryDirectory() as directory, Store(Path(directory) / "r") as store:
        store.put_items(data.draw(st.permutations(TASKS)))
        write(store, writes)
        assert content(store) == [(*write[:3], None) for write in sorted(good)]


# -- several replies at once -----------------------------------------------------------------

REPLIES = st.builds(
    Completion,
    text=st.text(max_size=3) | st.just("\ud83d"),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    reasoning=st.sampled_from([None, None, "", "hm \udc00"]),
    input_tokens=st.sampled_from([7, 7, 7, None]),
    output_tokens=st.sampled_from([None, 1, 2]),
    reasoning_tokens=st.sampled_from([None, None, 1]),
    model=st.sampled_from(["m", "m", "m", None]),
    latency_s=st.sampled_from([0.5, 0.5, 0.25]),
    error=st.sampled_from([None, None, "gone"]),
)
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(CELLS),
        st.dictionaries(st.integers(0, 12), REPLIES, max_size=6),
        st.booleans(),
    ),
    max_size=6,
)


def contents(store: Store) -> list[tuple[Any, ...]]:
    return [
        (item.cell, r.repeat, r.seed, *(getattr(r, name) for name in Completion._fields))
        for item, r in store.rows()
    ]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(REQUESTS)
def test_a_request_is_stored_as_its_replies_one_by_one(
    requests: list[tuple[Cell, dict[int, Completion], bool]],
) -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        Store(Path(directory) / "together") as together,
        Store(Path(directory) / "apart") as apart,
    ):
        for store in (together, apart):
            store.put_items(TASKS)
        for number, (cell, replies, commit) in enumerate(requests):
            together.put_all(cell, list(replies), list(replies.values()), seed=number)
            for repeat, completion in replies.items():
                apart.put(cell, repeat, completion, seed=number)
            if commit:
                together.flush()
        assert contents(together) == contents(apart)
        assert together.counts() == apart.counts()


def test_requests_of_any_size_are_stored(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items(TASKS)
        store.put_all(CELLS[0], [], [], seed=None)
        replies = [Completion(str(i), output_tokens=i % 2 or None) for i in range(257)]
        store.put_all(CELLS[0], range(257), replies, seed=3)
        assert [row[3] for row in contents(store)] == [str(i) for i in range(257)]
        assert {row[2] for row in contents(store)} == {3}


def test_the_prompt_of_a_request_is_counted_once(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items(TASKS)
        for cell in CELLS[:2]:  # of the same latency, as servers that answer from a cache have
            for repeats in ((0, 1, 2), (3, 4)):
                replies = [Completion("x", input_tokens=10, output_tokens=2, latency_s=0.5)]
                store.put_all(cell, repeats, replies * len(repeats), seed=None)
        assert store.usage() == Usage(10, 4 * 10, 10 * 2, 0)


@pytest.mark.parametrize("repeat", [-1, 1 << 20])
def test_a_number_that_the_key_cannot_hold_is_refused(tmp_path: Path, repeat: int) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items(TASKS)
        with pytest.raises(RunError, match="expected numbers from 0 to 1048575"):
            store.put(CELLS[0], repeat, Completion("x"), seed=None)
        store.put(CELLS[0], (1 << 20) - 1, Completion("x"), seed=None)
        store.put(CELLS[1], 0, Completion("y"), seed=None)
        assert store.counts() == {CELLS[0]: 1, CELLS[1]: 1, CELLS[2]: 0}


def test_what_could_not_be_committed_goes_on_waiting(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with Store(path) as store:
        store.put(CELLS[0], 0, Completion("x"), seed=None)
        with pytest.raises(RunError, match="no item of this run"):
            store.flush()
        with Store(path) as other:  # its items get the numbers that were taken back
            other.put_items([TASKS[2], TASKS[1]])
        store.put_items(TASKS)
        assert [(row[0], row[3]) for row in contents(store)] == [(CELLS[0], "x")]


def test_rows_are_ordered_and_of_one_benchmark_on_request(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items(reversed(TASKS))
        for cell in reversed(CELLS):
            for repeat in (10, 9, 0):
                store.put(cell, repeat, Completion("x"), seed=None)
        keys = [(item.cell, row.repeat) for item, row in store.rows()]
        assert keys == [(cell, repeat) for cell in CELLS for repeat in (0, 9, 10)]
        assert {item.benchmark for item, _ in store.rows("c")} == {"c"}
        assert store.counts() == dict.fromkeys(CELLS, 3)


def test_counts_name_items_without_a_good_reply(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items(TASKS)
        store.put(CELLS[0], 0, Completion("", error="gone"), seed=None)
        store.put(CELLS[1], 0, Completion("x", model="m"), seed=None)
        assert store.counts() == {CELLS[0]: 0, CELLS[1]: 1, CELLS[2]: 0}
        assert store.models() == ("m",)


def test_only_what_brought_no_reply_is_given_up(tmp_path: Path) -> None:
    good, failed, mixed, other = (Cell("b", item, "en") for item in "1234")
    with Store(tmp_path / "r.sqlite") as store:
        store.put_items([task(cell.item) for cell in (good, failed, mixed, other)])
        store.put(good, 0, Completion("4"), seed=None)
        store.put(failed, 0, Completion("", error="HTTP 503"), seed=None)
        store.put_all(mixed, (0, 2), (Completion("4"), Completion("", error="x")), seed=None)
        store.put_all(other, (0, 2), (Completion("", error="x"),) * 2, seed=None)
        before = content(store)
        store.give_up([Cell("b", "9", "en")])
        store.give_up([mixed, other], first=3)
        assert content(store) == before
        store.give_up([other], first=2)
        assert store.failed_cells() == {failed, mixed, other}
        store.give_up([good, failed, mixed])
        assert [(cell, n) for cell, n, _, _ in content(store)] == [
            (good, 0),
            (mixed, 0),
            (other, 0),
        ]
        assert store.counts() == {good: 1, mixed: 1, other: 0}
        # and may be asked for again
        store.put_items([task(failed.item, language="sr"), task(failed.item)])
        store.put(failed, 1, Completion("5"), seed=None)
        assert (failed, 1, "5", None) in content(store)


def test_rows_come_within_half_a_second_or_two_hundred(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"

    def seen() -> int:
        with Store(path, read_only=True) as reader:
            return sum(1 for _ in reader.rows())

    with Store(path) as store:
        store.put_items([task(repeats=500)])
        store.put(CELLS[0], 0, Completion("x"), seed=None)
        assert seen() == 0
        time.sleep(0.51)
        store.flush_if_due()
        assert seen() == 1
        for repeat in range(1, 200):
            store.put(CELLS[0], repeat, Completion("x"), seed=None)
        store.put(CELLS[0], 200, Completion("x"), seed=None)
        assert seen() == 201


def test_half_written_transaction_is_gone_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    store = Store(path)
    store.put_items([task()])
    store._connection.execute("BEGIN IMMEDIATE")
    store._connection.execute("DELETE FROM items")
    store._connection.close()  # as a killed process leaves it
    with Store(path) as again:
        assert len(list(again.items())) == 1


# -- damage ----------------------------------------------------------------------------------


def filled(path: Path) -> Path:
    with Store(path) as store:
        store.put_items(task(str(i)) for i in range(300))
        for i in range(300):
            store.put(Cell("b", str(i), "en"), 0, Completion("x" * 500), seed=None)
    return path


@pytest.mark.parametrize("read_only", [True, False])
def test_damaged_files_are_named(tmp_path: Path, *, read_only: bool) -> None:
    path = filled(tmp_path / "r.sqlite")
    whole = path.read_bytes()
    for damaged in (
        b"this is no database, but long enough to look like a page " * 100,
        whole[:100] + b"\xff" * 5000 + whole[5100:],
        whole[: len(whole) // 2],
        whole[:9000] + b"\x07" * (len(whole) - 9000),
    ):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"damaged|cannot") as caught:
            use(path, read_only=read_only)
        assert str(path) in str(caught.value)


def use(path: Path, *, read_only: bool) -> None:
    with Store(path, read_only=read_only) as store:
        list(store.rows())
        store.counts()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            f"PRAGMA user_version = {SCHEMA_VERSION + 1}",
            "written in format 3, this hatscore reads formats 1 to 2",
        ),
        ("PRAGMA application_id = 7", "not the replies of a hatscore run"),
        ("UPDATE items SET gold = '{\"kind\": 1'", "item b/1/en cannot be read"),
        ("UPDATE items SET prompt = '{}'", "item b/1/en cannot be read"),
        ("DELETE FROM shared", "is missing"),
        ("DROP TABLE replies", "no such table"),
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_strange_content_is_named(
    tmp_path: Path, statement: str, words: str, *, read_only: bool
) -> None:
    path = tmp_path / "r.sqlite"
    with Store(path) as store:
        store.put_items([task()])
        store.put(CELLS[0], 0, Completion("x"), seed=None)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    with pytest.raises(RunError, match=words) as caught:
        use(path, read_only=read_only)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_not_created_by_reading(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such file"):
        Store(tmp_path / "r.sqlite", read_only=True)
    assert not list(tmp_path.iterdir())
    with pytest.raises(RunError, match="unable to open"):
        Store(tmp_path / "none" / "r.sqlite")


def test_an_empty_file_is_no_run_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.touch()
    with pytest.raises(RunError, match="not the replies of a hatscore run"):
        Store(path, read_only=True)
    Store(path).close()
    Store(path, read_only=True).close()


def test_a_read_only_directory_can_be_read_but_not_written(
    public_path: Path, unprivileged: Callable[[], AbstractContextManager[None]]
) -> None:
    path = filled(public_path / "r.sqlite")
    path.chmod(0o444)
    public_path.chmod(0o555)
    with unprivileged():
        with Store(path, read_only=True) as store:
            assert len(list(store.rows())) == 300
        with pytest.raises(RunError, match="can be written"), Store(path) as store:
            store.put_items([task("new")])


def test_a_full_disk_is_said_and_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    path = filled(tmp_path / "r.sqlite")
    store = Store(path)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own "disk is full"
    store.put(Cell("b", "0", "en"), 1, Completion("y" * 100_000), seed=None)
    with pytest.raises(RunError, match="full; free space and start again"):
        store.flush()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 100}")  # space again
    store.close()
    with Store(path) as again:
        assert again.counts()[Cell("b", "0", "en")] == 2
        assert sum(again.counts().values()) == 301

"""Many machines: two Ray workers on this one, a killed worker, shards on a shelf."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import threading
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hatscore.benchmarks.base import Item, Prompt
from hatscore.errors import InputError, MissingExtraError, ModelError, RunError
from hatscore.grading import Gold
from hatscore.sampling import (
    BenchmarkPlan,
    Budget,
    Completion,
    Run,
    RunConfig,
    SamplingParams,
    Store,
    make_client,
    run_sampling,
)
from hatscore.sampling.budget import Usage
from hatscore.sampling.cluster import Cluster, Job, sample_on_ray
from hatscore.sampling.cluster_budget import Grant
from hatscore.sampling.cluster_shard import (
    ASIDE_NAME,
    Aside,
    Merged,
    Shard,
    Shelf,
    fetch_run,
    merge,
    models_in,
    publish_run,
    run_key,
)
from hatscore.sampling.cluster_worker import Failure, Order, Worker
from hatscore.sampling.servers import Known, Limits, read_servers
from hatscore.sampling.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra cluster"
)
PARAMS = SamplingParams(seed=5)


def tasks(
    items: int = 6, repeats: int = 4, languages: tuple[str, ...] = ("en", "sw")
) -> list[Task]:
    return [
        Task(
            "toy",
            Item(f"{i}", tag, "en", f"{i}?", Gold("number", "1")),
            Prompt("chat", f"{tag} {i}?"),
            repeats,
        )
        for tag in languages
        for i in range(items)
    ]


def config(model: str = "test-model", *, repeats: int = 4) -> RunConfig:
    plan = BenchmarkPlan("toy", "1", ("en", "sw"), "en", repeats)
    return RunConfig("openai-api/m", "openai-api", model, "chat", "native", PARAMS, (plan,))


def client_at(url: str, *, model: str = "test-model") -> Callable[[], Any]:
    return functools.partial(make_client, f"openai-api/{model}", base_url=url)


def rows(run: Run) -> dict[tuple[Any, ...], tuple[str, int | None]]:
    """Return text and seed of every reply by its key; a key that comes twice is an error."""
    found: dict[tuple[Any, ...], tuple[str, int | None]] = {}
    for item, reply in run.store.rows():
        key = (*item.cell, reply.repeat)
        assert key not in found
        assert reply.error is None
        found[key] = (reply.text, reply.seed)
    return found


class Scripted:
    """A client that answers with the process it runs in."""

    name = "scripted"

    async def check(self) -> None:
        return

    async def complete(
        self, prompt: Prompt, *, n: int, params: SamplingParams, seed: int | None
    ) -> list[Completion]:
        del params, seed
        await asyncio.sleep(0.01)
        return [Completion(f"{prompt.text} from {os.getpid()}", "stop")] * n

    async def close(self) -> None:
        return


class Mortal(Scripted):
    """One that kills its process in the middle of a slice, as often as the folder has files."""

    def __init__(self, lives: str) -> None:
        self.lives = Path(lives)
        self.calls = 0

    async def complete(self, prompt: Prompt, **options: Any) -> list[Completion]:
        self.calls += 1
        if self.calls == 2:
            for life in self.lives.iterdir():
                try:
                    life.unlink()
                except FileNotFoundError:
                    continue  # the other worker took it
                os.kill(os.getpid(), signal.SIGKILL)
        return await super().complete(prompt, **options)


class Slow(Scripted):
    """One that tells that it is asked, and takes its time with the second item."""

    def __init__(self, sign: str) -> None:
        self.sign = Path(sign)

    async def complete(self, prompt: Prompt, **options: Any) -> list[Completion]:
        if prompt.text != "en 0?":
            self.sign.touch()
            await asyncio.sleep(0.5)
        return await super().complete(prompt, **options)


class Refusing(Scripted):
    """One that answers the first item and refuses the second for good."""

    async def complete(self, prompt: Prompt, **options: Any) -> list[Completion]:
        if prompt.text != "en 0?":
            raise ModelError("refused for good")
        return await super().complete(prompt, **options)


class Gateway(Scripted):
    """One that answers under another name in each process: the first is one, all others two."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.answers_as = ""

    async def check(self) -> None:
        if not self.answers_as:
            try:
                self.folder.mkdir()
                self.answers_as = "one"
            except FileExistsError:
                self.answers_as = "two"

    async def complete(self, prompt: Prompt, **options: Any) -> list[Completion]:
        replies = await super().complete(prompt, **options)
        return [reply._replace(model=self.answers_as) for reply in replies]


# -- without Ray -----------------------------------------------------------------------------


def order(make: Callable[[], Any], wanted: list[Task], held: Any = None, **more: Any) -> Order:
    return Order("job", "slice.sqlite", make, wanted, held or {}, PARAMS, 2, **more)


def test_a_slice_is_sampled_into_a_shard_and_merged_once(tmp_path: Path) -> None:
    wanted = tasks(2)
    held = {wanted[0].cell: {0, 2}}

    async def main() -> Any:
        worker = Worker()
        result = await worker.sample(order(Scripted, wanted, held))
        await worker.close()
        return result

    result = asyncio.run(main())
    assert result.failure is None
    with Store(tmp_path / "run.sqlite") as store:
        store.put_items(wanted)
        merged = merge(store, result.content)
        assert (merged.new, merged.errors) == (14, 0)
        assert store.good_repeats()[wanted[0].cell] == {1, 3}
        assert merge(store, result.content) == Merged()  # it may come twice


def test_merging_keeps_the_requests_together(tmp_path: Path) -> None:
    [task, *_] = tasks(1, 2)
    shard = Shard(tmp_path / "shard.sqlite", {})
    shard.put_items([task])
    for repeats, latency_s, seed in (((0, 1, 2), 0.5, 7), ((3, 4), 0.25, 8), ((5, 6), None, 9)):
        reply = Completion("x", input_tokens=10, output_tokens=2, latency_s=latency_s)
        shard.put_all(task.cell, repeats, [reply] * len(repeats), seed=seed)
    content = shard.close()
    with Store(tmp_path / "run.sqlite") as store:
        store.put_items([task])
        assert merge(store, content).new == 7
        # One prompt for each of two requests; without a latency nobody knows, so one each.
        assert store.usage() == Usage(7, 4 * 10, 7 * 2, 0)
        assert [r.seed for _, r in store.rows()] == [7, 7, 7, 8, 8, 9, 9]


def test_merging_never_replaces_a_good_reply(tmp_path: Path) -> None:
    [task, *_] = tasks(1, 2)
    shard = Shard(tmp_path / "shard.sqlite", {})
    shard.put_items([task])
    shard.put_all(task.cell, [0, 1], [Completion("other"), Completion("", error="lost")], seed=1)
    content = shard.close()
    with Store(tmp_path / "run.sqlite") as store:
        store.put_items([task])
        store.put(task.cell, 0, Completion("first"), seed=1)
        merged = merge(store, content)
        assert [(r.text, r.error) for _, r in store.rows()] == [("first", None), ("", "lost")]
    assert (merged.new, merged.errors, merged.last_error) == (0, 1, "lost")


def test_counts_add_up() -> None:
    one = Merged(1, 0, 5, None, 2)
    two = Merged(2, 1, 7, 3, None, "late")
    assert one + two == Merged(3, 1, 12, 3, 2, "late")
    assert one + Merged() == one


def test_an_error_comes_with_what_had_arrived(tmp_path: Path) -> None:
    wanted = tasks(3, 1, ("en",))
    one = dataclasses.replace(order(Refusing, wanted), concurrency=1)
    result = asyncio.run(Worker().sample(one))
    assert result.failure == Failure("ModelError", "refused for good")
    assert isinstance(result.failure.error(), ModelError)
    with Store(tmp_path / "run.sqlite") as store:
        store.put_items(wanted)
        assert merge(store, result.content).new == 1


def test_errors_travel_under_the_nearest_kind() -> None:
    assert Failure.of(MissingExtraError("x", "y")).kind == "InputError"
    assert Failure.of(RunError("z")) == Failure("RunError", "z")


def test_workers_keep_the_client_of_a_run() -> None:
    made = []

    def make() -> Scripted:
        made.append(1)
        return Scripted()

    async def main() -> None:
        worker = Worker()
        for name in ("a", "a", "b"):
            one = Order(name, "s", make, tasks(1, 1), {}, PARAMS, 1)
            await worker.sample(one)
        await worker.close()

    asyncio.run(main())
    assert len(made) == 2


def test_workers_are_told_what_is_known_of_the_server(model_server: Callable[..., Any]) -> None:
    server = model_server(n_limit=2)
    wanted = tasks(1, 4, ("en",))

    async def slices() -> Any:
        known: Any = ()
        for _ in range(2):
            worker = Worker()
            result = await worker.sample(order(client_at(server.url), wanted, known=known))
            await worker.close()
            known = (result.known,)
        return known

    assert asyncio.run(slices()) == (
        Known(f"{server.url}/v1", "test-model", Limits(2, 2, "refused")),
    )
    assert [request.n for request in server.requests] == [4, 2, 2, 2, 2]


def shard_of(folder: Path, task: Task, repeats: list[int], model: str | None) -> bytes:
    shard = Shard(folder / f"{uuid.uuid4()}.sqlite", {})
    shard.put_items([task])
    shard.put_all(task.cell, repeats, [Completion("x", model=model)] * len(repeats), seed=1)
    return shard.close()


def test_a_worker_knows_the_names_of_the_run(tmp_path: Path) -> None:
    make = functools.partial(Gateway, str(tmp_path / "first"))
    for mixed in (False, True):
        told: Any = {"models": ["zero"], "mixed_models": mixed}
        (tmp_path / "first").mkdir(exist_ok=True)
        result = asyncio.run(Worker().sample(order(make, tasks(1), **told)))
        if mixed:
            assert result.failure is None
            assert result.warnings == ()  # the driver says it once, with all names
            assert models_in(result.content) == ("two",)
        else:
            assert result.failure is not None
            assert "answers as 'two' now and as 'zero' before" in result.failure.message


def test_shards_left_behind_do_not_mix_models(tmp_path: Path) -> None:
    wanted = tasks(1, 4, ("en",))
    url = f"file://{tmp_path}/shelf"
    for number, model in enumerate(("one", "two", "one", None)):
        content = shard_of(tmp_path, wanted[0], [number], model)
        Shelf(url).put(f"shards/{run_key(config())}/{number:06}.sqlite", content)
    where = tmp_path / "run"
    with Run.create_or_resume(where, config()) as run:
        cluster = Cluster(workers=1, shelf_url=url)
        words = (
            r"asked for 'test-model', the server answers as 'two' now and as 'one' before in this "
            r"run: .*--mixed-models; the replies of this slice are kept in .*set-aside.*sqlite"
        )
        with pytest.raises(ModelError, match=words):
            sample_on_ray([Job(run, wanted, Scripted)], cluster)
        assert run.store.good_repeats()[wanted[0].cell] == {0, 2, 3}  # the others came in
        assert Shelf(url).names(f"shards/{run_key(config())}") == []
        assert len(Aside(where).paths()) == 1
        [summary] = sample_on_ray([Job(run, wanted, Scripted, mixed_models=True)], cluster)
        assert (summary.already, summary.complete, summary.models) == (4, True, ("one", "two"))
        assert sum("several model names: one, two" in text for text in summary.warnings) == 1
        assert not (where / ASIDE_NAME).exists()


def test_what_was_set_aside_never_replaces_a_reply(tmp_path: Path) -> None:
    [task] = tasks(1, 2, ("en",))
    content = shard_of(tmp_path, task, [0, 1], "two")
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        run.store.put_items([task])
        run.store.put(task.cell, 0, Completion("first", model="one"), seed=None)
        aside = Aside(run.directory)
        assert aside.put(content) == aside.put(content)
        [summary] = sample_on_ray([Job(run, [task], Scripted, mixed_models=True)], Cluster())
        assert summary.already == 2
        assert [reply.text for _, reply in run.store.rows()] == ["first", "x"]


async def _sampled(one: Order) -> Any:
    worker = Worker()
    try:
        return await worker.sample(one)
    finally:
        await worker.close()


def test_a_worker_keeps_to_its_grant_and_says_so(model_server: Callable[..., Any]) -> None:
    server = model_server(usage="none")  # tokens are estimated
    used = Usage(10, 10, 20, 5)
    for more, reached in ((3, True), (8, False)):
        grant = Grant(Budget(10 + more, max_cost=1.0, price_in=1.0, price_out=1.0), used)
        one = order(client_at(server.url), tasks(2, 4, ("en",)), grant=grant)
        result = asyncio.run(_sampled(one))
        assert result.reached is reached
        assert result.warnings == ()  # the driver knows what is estimated in the whole run
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "shard.sqlite"
            path.write_bytes(result.content)
            with Store(path, read_only=True) as shard:
                assert shard.usage().replies == more


def test_shelf(tmp_path: Path) -> None:
    for url in (f"file://{tmp_path}/shelf", f"memory://{uuid.uuid4()}"):
        shelf = Shelf(url)
        assert shelf.names("a") == []
        assert shelf.get("a/1") is None
        shelf.put("a/2", b"two")
        shelf.put("a/1", b"one")
        assert shelf.names("a") == ["a/1", "a/2"]
        assert shelf.get("a/2") == b"two"
        shelf.remove("a/2")
        shelf.remove("a/2")
        assert shelf.names("a") == ["a/1"]
    with pytest.raises(InputError, match="nosuch"):
        Shelf("nosuch://x")


def test_a_run_goes_to_a_url_and_comes_back(tmp_path: Path) -> None:
    url = f"memory://{uuid.uuid4()}"
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        run.store.put_items(tasks(1))
        run.store.put(tasks(1)[0].cell, 0, Completion("kept"), seed=None)
    assert not fetch_run(url, tmp_path / "copy", "run")
    assert publish_run(tmp_path / "run", url) == f"{url}/run"
    assert fetch_run(url, tmp_path / "copy", "run")
    assert not fetch_run(url, tmp_path / "copy", "run")  # never over a run
    with Run.create_or_resume(tmp_path / "copy", config()) as run:
        assert [reply.text for _, reply in run.store.rows()] == ["kept"]


def test_run_keys_are_of_what_decides_the_replies() -> None:
    assert run_key(config()) == run_key(config())
    assert run_key(config()) != run_key(config("other"))


def test_numbers_out_of_range() -> None:
    with pytest.raises(InputError, match="workers 0"):
        Cluster(workers=0)
    with pytest.raises(InputError, match="at least 0"):
        Cluster(gpus_per_worker=-1)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hatscore\[cluster\]'"):
        sample_on_ray([])


# -- two workers -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_workers() -> Iterator[None]:
    """Start Ray with two processors, once for all tests here."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    # Sockets have short names: pytest's own folders are too deep.
    folder = tempfile.mkdtemp(prefix="hs")
    try:
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=80 * 1024 * 1024,
            _temp_dir=folder,
        )
    except Exception as error:  # noqa: BLE001 - Ray raises what its parts do
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"Ray does not start here: {error}")
    # Workers cannot import this module by its name.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_two_workers_sample_what_one_machine_samples(
    tmp_path: Path, model_server: Callable[..., Any]
) -> None:
    server = model_server(latency_s=0.02, probability=lambda _: 0.5)
    seen = []
    with Run.create_or_resume(tmp_path / "ray", config()) as run:
        job = Job(run, tasks(), client_at(server.url), concurrency=5)
        [summary] = sample_on_ray([job], Cluster(workers=2, slice_tasks=2), progress=seen.append)
        on_ray = rows(run)
    assert summary.complete
    assert (summary.total, summary.already, summary.new) == (48, 0, 48)
    assert summary.requests == len(server.requests)
    assert summary.models == ("test-model",)
    assert summary.input_tokens is not None
    assert read_servers(tmp_path / "ray") == [Known(f"{server.url}/v1", "test-model", Limits(4))]
    assert server.most_under_way <= 5  # of both workers together
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert (seen[0].done, seen[-1].done, len(seen)) == (0, 48, 7)
    with Run.create_or_resume(tmp_path / "alone", config()) as run:
        run_sampling(run, tasks(), client_at(server.url)())
        assert rows(run) == on_ray  # the seeds are those of the keys


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_both_workers_work_and_runs_go_on(tmp_path: Path) -> None:
    with Run.create_or_resume(tmp_path, config()) as run:
        run.store.put_items(tasks())
        for repeat in range(3):
            run.store.put(tasks()[0].cell, repeat, Completion("kept"), seed=None)
        cluster = Cluster(workers=2, slice_tasks=1)
        [summary] = sample_on_ray([Job(run, tasks(), Scripted)], cluster)
        assert (summary.already, summary.new) == (3, 45)
        texts = {text.rpartition(" ")[2] for text, _ in rows(run).values()}
        assert len(texts - {"kept"}) == 2  # processes
        [again] = sample_on_ray([Job(run, tasks(), Scripted)], cluster)
        assert (again.already, again.new, again.requests) == (48, 0, 0)


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_a_killed_worker_loses_and_doubles_nothing(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    lives.mkdir()
    (lives / "1").touch()
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        make = functools.partial(Mortal, str(lives))
        [summary] = sample_on_ray([Job(run, tasks(), make)], Cluster(workers=2, slice_tasks=3))
        found = rows(run)
    assert not list(lives.iterdir())  # one was killed
    assert summary.complete
    assert set(found) == {(*task.cell, r) for task in tasks() for r in range(task.repeats)}


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_a_slice_that_kills_every_worker_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hatscore.sampling.cluster_pool.MOST_DEATHS", 2)
    lives = tmp_path / "lives"
    lives.mkdir()
    for number in range(50):
        (lives / str(number)).touch()
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        make = functools.partial(Mortal, str(lives))
        job = Job(run, tasks(2, languages=("en",)), make)
        with pytest.raises(ModelError, match="2 workers have ended while sampling toy in en"):
            sample_on_ray([job], Cluster(workers=1, slice_tasks=2))


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_several_models_and_results_under_a_url(
    tmp_path: Path, model_server: Callable[..., Any]
) -> None:
    one, two = model_server(models=("one",)), model_server(models=("two",))
    url = f"file://{tmp_path}/shelf"
    # A shard that an earlier driver did not come to merge.
    wanted = tasks()
    left = Shard(tmp_path / "left.sqlite", {})
    left.put_items(wanted[:1])
    left.put_all(wanted[0].cell, range(4), [Completion("left")] * 4, seed=None)
    Shelf(url).put(f"shards/{run_key(config('one'))}/000000.sqlite", left.close())
    with (
        Run.create_or_resume(tmp_path / "one", config("one")) as first,
        Run.create_or_resume(tmp_path / "two", config("two")) as second,
    ):
        jobs = [
            Job(first, wanted, client_at(one.url, model="one"), concurrency=1),
            Job(second, wanted, client_at(two.url, model="two"), concurrency=4),
        ]
        summaries = sample_on_ray(jobs, Cluster(workers=2, shelf_url=url))
        assert [s.complete for s in summaries] == [True, True]
        assert [s.already for s in summaries] == [4, 0]
        assert [s.models for s in summaries] == [("one",), ("two",)]
        assert rows(first)["toy", "0", "en", 0] == ("left", None)
        assert set(rows(first)) == set(rows(second))
    assert one.most_under_way == 1
    assert not any(path.is_file() for path in (tmp_path / "shelf").rglob("*"))


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_limits_hold_for_all_workers_and_starts_together(
    tmp_path: Path, model_server: Callable[..., Any]
) -> None:
    server = model_server(latency_s=0.01)
    cluster = Cluster(workers=2, slice_tasks=2)
    make = client_at(server.url)
    seen: list[Any] = []

    def start(run: Run, **limits: Any) -> Any:
        job = Job(run, tasks(), make, concurrency=4, budget=Budget(**limits))
        [summary] = sample_on_ray([job], cluster, progress=seen.append)
        return summary

    with Run.create_or_resume(tmp_path, config()) as run:
        summary = start(run, max_replies=13)
        assert (summary.new, summary.complete, len(rows(run))) == (13, False, 13)
        assert summary.stopped == "the limit of 13 replies is reached"
        asked = len(server.requests)
        assert start(run, max_replies=13).stopped == summary.stopped
        assert len(server.requests) == asked  # the same command spends nothing more
        # 2 words of a reply are told, and 2 of a prompt once for each request
        summary = start(run, max_cost=80e-6, price_in=1.0, price_out=1.0)
        used = run.store.usage()
        assert summary.cost == (used.input_tokens + used.output_tokens) / 1e6
        assert 70e-6 < summary.cost <= 88e-6  # each worker may be wrong about one request
        assert summary.stopped.startswith("the limit of 8e-05 USD is reached")
        assert seen[-1].cost == summary.cost
        assert start(run, max_tokens=10**6).complete
        assert len(rows(run)) == 48


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_what_a_killed_worker_was_promised_is_not_lost(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    lives.mkdir()
    (lives / "1").touch()
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        make = functools.partial(Mortal, str(lives))
        job = Job(run, tasks(), make, budget=Budget(max_replies=30))
        [summary] = sample_on_ray([job], Cluster(workers=2, slice_tasks=3))
        assert len(rows(run)) == summary.new == 30
    assert not list(lives.iterdir())


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_a_run_at_its_limit_leaves_the_workers_to_others(tmp_path: Path) -> None:
    with (
        Run.create_or_resume(tmp_path / "one", config("one")) as one,
        Run.create_or_resume(tmp_path / "two", config("two")) as two,
    ):
        jobs = [
            Job(one, tasks(), Scripted, budget=Budget(max_replies=5)),
            Job(two, tasks(), Scripted),
        ]
        summaries = sample_on_ray(jobs, Cluster(workers=2, slice_tasks=2))
    assert [summary.new for summary in summaries] == [5, 48]
    assert [summary.stopped is None for summary in summaries] == [False, True]


@needs_ray
@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize("shelf", [False, True])
def test_workers_that_meet_two_models_end_the_run(tmp_path: Path, *, shelf: bool) -> None:
    make = functools.partial(Gateway, str(tmp_path / "first"))
    url = f"file://{tmp_path}/shelf" if shelf else None
    cluster = Cluster(workers=2, slice_tasks=2, shelf_url=url)
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        with pytest.raises(ModelError, match="replies of two models would be mixed") as caught:
            sample_on_ray([Job(run, tasks(), make, concurrency=2)], cluster)
        [name] = run.store.models()
        other = {"one": "two", "two": "one"}[name]
        assert f"answers as {other!r} now and as {name!r} before in this run" in str(caught.value)
        kept = Aside(run.directory).paths()
        assert kept
        assert {models_in(path.read_bytes()) for path in kept} == {(other,)}
        already = len(rows(run))
        job = Job(run, tasks(), make, concurrency=2, mixed_models=True)
        [summary] = sample_on_ray([job], cluster)
        assert summary.complete
        assert summary.already >= already + 8  # a slice of two tasks was set aside, at least
        assert summary.models == ("one", "two")
        assert len(rows(run)) == 48


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_refusal_on_a_worker_is_the_error_of_the_run(tmp_path: Path) -> None:
    with Run.create_or_resume(tmp_path, config()) as run:
        job = Job(run, tasks(), Refusing, concurrency=1)
        with pytest.raises(ModelError, match=r"^refused for good$"):
            sample_on_ray([job], Cluster(workers=1))
        assert len(rows(run)) == 4  # what had arrived


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_stopped_in_good_order(tmp_path: Path) -> None:
    sign = tmp_path / "sign"

    def kill_soon() -> None:
        while not sign.exists():
            threading.Event().wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    helper = threading.Thread(target=kill_soon)
    helper.start()
    with Run.create_or_resume(tmp_path / "run", config()) as run:
        job = Job(run, tasks(), functools.partial(Slow, str(sign)), concurrency=1)
        with pytest.raises(KeyboardInterrupt):
            sample_on_ray([job], Cluster(workers=1, slice_tasks=6))
        kept = len(rows(run))
    helper.join()
    assert 4 <= kept < 24  # the first item, and what was under way
    assert signal.getsignal(signal.SIGTERM) is before


@needs_ray
@pytest.mark.usefixtures("two_workers")
def test_more_workers_than_room(tmp_path: Path) -> None:
    with Run.create_or_resume(tmp_path, config()) as run:
        job = Job(run, tasks(), Scripted)
        with pytest.raises(InputError, match=r"2 processors .* room for 2 workers"):
            sample_on_ray([job], Cluster(workers=3))
        with pytest.raises(InputError, match="0 accelerators"):
            sample_on_ray([job], Cluster(gpus_per_worker=1))
        with pytest.raises(InputError, match="concurrency 0"):
            sample_on_ray([Job(run, tasks(), Scripted, concurrency=0)])

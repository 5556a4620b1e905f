"""Work in batches over processes, by joblib: loky on this computer, Dask on a cluster; or, where
much is known already, over copies of this process.

Results come in the order in which batches are done. An interrupt is of the parent alone; processes
of this computer end with the one that started them, however it ends.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Literal, TypeVar

from c3sim.errors import InputError, WorkerError
from c3sim.evaluation.effort import Agree, Effort
from c3sim.experiments.copying import named, processes, with_copies
from c3sim.experiments.kept import for_another, goes_on, kept_of
from c3sim.experiments.starting import begin, interrupts_wait


def side_by_side(
    tasks: Iterable[Any], jobs: int, *, ordered: bool = True
) -> Generator[Any, None, None]:
    """Results of joblib's ``delayed`` *tasks* from *jobs* processes, -1 for as many as cores."""
    from joblib import Parallel

    how = "generator" if ordered else "generator_unordered"
    parallel: Any = Parallel(
        n_jobs=jobs, return_as=how, batch_size=1, initializer=begin, initargs=(os.getpid(),)
    )
    with interrupts_wait():
        outputs: Generator[Any, None, None] = parallel(tasks)
    return outputs


Item = TypeVar("Item")
Output = TypeVar("Output")
Backend = Literal["loky", "dask"]
Watcher = Callable[[int, int, int], None]  # points done, of how many, failed
WORTH_IT = 100  # items; starting other processes takes as long as some tens of them
SECONDS = 1.0  # that a batch takes, about, unless one item takes longer
_LARGEST = 64  # items in a batch
_BATCHES = 8  # for each worker at least, so that all end at about the same time


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Workers that do the work: *jobs* processes (None: all cores, *most* of them at most, from
    *worth* items on; -1: all cores), at a Dask *scheduler*.

    *copied*: where it can be, this process and copies of it, which know what it knows.
    *agree* is told what is ahead before work begins, and raises where that is too much. Raises
    InputError for a scheduler without Dask.
    """

    jobs: int | None = None
    copied: bool = False
    backend: Backend = "loky"
    scheduler: str | None = None
    agree: Agree | None = None
    worth: int = WORTH_IT
    most: int | None = None

    def __post_init__(self) -> None:
        if self.scheduler and self.backend == "loky":
            raise InputError(
                "a scheduler is Dask's; add --backend dask", "--scheduler", self.scheduler
            )

    def check(self) -> None:
        """Raises InputError for a scheduler that does not answer, or has no worker."""
        if self.scheduler:
            with _client(self, 1):
                pass

    def ask(self, one: Effort, points: int) -> None:
        """Decide whether to run so many *points* that each take *one*; ``agree`` raises where
        not.
        """
        if self.agree is not None:
            self.agree(one.times(points, self.count(points)))

    def count(self, items: int) -> int:
        """Processes for so many items; 1 is this process."""
        if self.jobs is not None and self.jobs > 0:
            return self.jobs
        if self.jobs is None and self.backend == "loky" and items < self.worth:
            return 1
        from joblib import cpu_count

        cores = int(cpu_count())
        return cores if self.jobs is not None or self.most is None else min(cores, self.most)


def in_batches(
    work: Callable[[Sequence[Item]], Output],
    items: Sequence[Item],
    workers: Workers,
    together: int = 1,
) -> Generator[Output, None, None]:
    """*work* of every batch of *items*, in any order.

    *together* neighbours share models and stay in one batch. *work* is sent to other processes, so
    it is a function of a module, or a partial of one.
    """
    jobs = workers.count(len(items))
    if workers.copied and 1 < jobs == processes(jobs):
        yield from _by_copies(work, items, jobs, together)
        return
    largest = max(1, min(_LARGEST, len(items) // (jobs * _BATCHES)) // together) * together
    pace = Pace(together, largest, jobs)
    if jobs == 1 and workers.backend == "loky":
        yield from _here(work, items, pace)
        return
    from concurrent.futures.process import BrokenProcessPool

    from joblib import delayed

    resumes = goes_on()
    tasks = (delayed(_in_worker)(work, batch, resumes) for batch in pace.batches(items))
    with ExitStack() as stack:
        if workers.backend == "dask":
            outputs = _on_dask(stack, workers, jobs, tasks)
        else:
            outputs = side_by_side(tasks, jobs, ordered=False)
        try:
            for count, output in outputs:
                pace.finished(count)
                yield output
            if pace.done < len(items):  # a scheduler that died may end them without an error
                raise _lost("the scheduler", workers)
        except BrokenProcessPool:
            raise WorkerError.of_ended(None) from None
        finally:
            with warnings.catch_warnings():
                # joblib warns of unfinished work; the caller of an interrupted run knows
                warnings.simplefilter("ignore")
                outputs.close()


def _here(
    work: Callable[[Sequence[Item]], Output], items: Sequence[Item], pace: Pace
) -> Iterator[Output]:
    for batch in pace.batches(items):
        output = work(batch)
        pace.finished(len(batch))
        yield output


def _by_copies(
    work: Callable[[Sequence[Item]], Output], items: Sequence[Item], jobs: int, together: int
) -> Generator[Output, None, None]:
    def of(number: int) -> Output:
        return work(items[number * together : (number + 1) * together])

    with closing(with_copies(of, -(-len(items) // together), jobs)) as outputs:
        yield from outputs


def in_order(
    work: Callable[[Sequence[tuple[int, Item]]], Sequence[tuple[int, Output]]],
    items: Sequence[Item],
    workers: Workers,
    watcher: Watcher | None = None,
    together: int = 1,
) -> list[Output]:
    """*work* of every one of *items*, in their order. *work* takes and gives them by number;
    *watcher* hears of every batch, and of rows that have an ``error``. *together*: as
    :func:`in_batches`.
    """
    found: dict[int, Output] = kept_of(work, items)
    failed = 0
    if watcher is not None:
        watcher(len(found), len(items), failed)
    missing = [(number, item) for number, item in enumerate(items) if number not in found]
    with closing(in_batches(work, missing, workers, together)) as batches:
        for batch in batches:
            found.update(batch)
            failed += sum(
                isinstance(row, dict) and row.get("error") is not None for _, row in batch
            )
            if watcher is not None:
                watcher(len(found), len(items), failed)
    return [found[number] for number in range(len(items))]


def of_each(
    function: Callable[[Item], Output],
    items: Sequence[Item],
    workers: Workers,
    told: Callable[[int, int], None] | None = None,
    together: int = 1,
) -> list[Output]:
    """*function* of each of *items*, in order; *told* hears how many of them are done. *together*:
    as :func:`in_batches`.
    """
    work = partial(_by_number, function)
    watcher: Watcher | None = told and (lambda done, total, _: told(done, total))
    return in_order(work, items, workers, watcher, together)


def _by_number(
    function: Callable[[Item], Output], items: Sequence[tuple[int, Item]]
) -> list[tuple[int, Output]]:
    return [(number, function(item)) for number, item in items]


class Pace:
    """Sizes of batches that take about a second: an interrupt loses what is unfinished.

    Every size is a multiple of *together* and at most *largest*.
    """

    def __init__(
        self, together: int, largest: int, jobs: int, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.together, self.largest = together, max(largest, together)
        self.jobs, self.clock = jobs, clock
        self.begin, self.done = clock(), 0

    def finished(self, count: int) -> None:
        """*count* more items are done."""
        self.done += count

    def size(self) -> int:
        """The size of the next batch."""
        each = (self.clock() - self.begin) * self.jobs / self.done if self.done else SECONDS
        fits = int(min(SECONDS / max(each, 1e-9), self.largest)) // self.together
        return max(fits, 1) * self.together

    def batches(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """*items* in order; each batch is cut when it is asked for."""
        start = 0
        while start < len(items):
            end = start + self.size()
            yield items[start:end]
            start = end


def _in_worker(work: Callable[[Any], Output], batch: Any, resumes: str = "") -> tuple[int, Output]:
    """The number of items, and *work* of them."""
    with for_another(resumes), named():
        return len(batch), work(batch)


def _on_dask(
    stack: ExitStack, workers: Workers, jobs: int, tasks: Iterable[Any]
) -> Generator[Any, None, None]:
    """Results of *tasks* from Dask's workers, which are let go with the *stack*. What a worker that
    dies had begun is done by another. Raises InputError where the scheduler dies, or a task has
    lost several workers.
    """
    from joblib import Parallel, parallel_config

    stack.enter_context(_client(workers, jobs))
    stack.enter_context(parallel_config(backend="dask"))
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        yield from parallel(tasks)
    except (FutureCancelledError, KilledWorker) as error:
        several = isinstance(error, KilledWorker)
        raise _lost("several workers" if several else "the scheduler", workers) from None


def _lost(what: str, workers: Workers) -> InputError:
    message = f"{what} died; what was done is kept, and the same command goes on from there"
    return InputError(message, "--scheduler", workers.scheduler or "")


def _client(workers: Workers, jobs: int) -> Any:
    """A Dask client, to be closed. Raises InputError: no Dask, no scheduler, no worker."""
    try:
        from dask.distributed import Client
    except ImportError:
        message = "Dask is not installed; run: pip install 'c3sim[dask]'"
        raise InputError(message, "--backend") from None
    address = workers.scheduler or ""
    options: dict[str, Any] = {"address": address, "timeout": "10s"}
    if not address:
        options = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    try:
        client: Any = Client(**options)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        message = f"no scheduler answers there ({reason}); an address is as tcp://host:8786"
        raise InputError(message, "--scheduler", address) from None
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.close()
        message = f"this scheduler has no workers; start one: dask worker {address}"
        raise InputError(message, "--scheduler", address)
    return client

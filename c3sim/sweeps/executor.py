"""Work in batches over processes, by joblib: loky on this computer, Dask on a cluster. Results come
as they are done.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from time import perf_counter, sleep
from typing import Any, Literal, TypeVar

from c3sim.errors import InputError

Item = TypeVar("Item")
Found = TypeVar("Found")
Backend = Literal["loky", "dask"]
WORTH_IT = 100  # points; starting other processes takes as long as some tens of them
_LARGEST = 64  # points in a batch
SECONDS = 1.0  # that a batch takes, about, unless one point takes longer
_BATCHES = 8  # for each worker at least, so that all end together


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Where work is done. *jobs*: processes, None for all cores where it pays; *scheduler*: address
    of a Dask scheduler.

    Raises InputError for a scheduler without Dask.
    """

    jobs: int | None = None
    backend: Backend = "loky"
    scheduler: str | None = None

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

    def count(self, points: int) -> int:
        """Processes for so many points, 1 for this one."""
        if self.jobs is None and self.backend == "loky" and points < WORTH_IT:
            return 1
        if self.jobs is not None:
            return self.jobs
        from joblib import cpu_count

        return int(cpu_count())


def in_batches(
    work: Callable[[Sequence[Item]], Found],
    items: Sequence[Item],
    workers: Workers,
    together: int = 1,
) -> Generator[Found, None, None]:
    """*work* of every batch of *items*, in any order; *together* neighbours share what they need
    and stay in one batch.

    *work* is sent to other processes, so it must be a function of a module, or a partial of one.
    """
    jobs = workers.count(len(items))
    size = max(1, min(_LARGEST, len(items) // (jobs * _BATCHES)) // together) * together
    pace = Pace(together, size, jobs)
    batches = pace.batches(items)
    if jobs == 1 and workers.backend == "loky":
        for batch in batches:
            found = work(batch)
            pace.finished(len(batch))
            yield found
        return
    from joblib import Parallel, delayed, parallel_config

    with _backend(workers, jobs) as options, parallel_config(**options):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        parent = os.getpid() if workers.backend == "loky" else 0
        found = parallel(delayed(_undisturbed)(work, batch, parent) for batch in batches)
        try:
            for count, each in found:
                pace.finished(count)
                yield each
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # that an interrupt leaves work undone is said by who is interrupted
                found.close()


class Pace:
    """Sizes of batches: such that one is done in about a second, since what is not done is lost to
    who is interrupted.

    *together*: the smallest, and a divisor of all; *largest*: of all but that.
    """

    def __init__(
        self, together: int, largest: int, jobs: int, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.together, self.largest, self.jobs, self.clock = (
            together,
            max(largest, together),
            jobs,
            clock,
        )
        self.begin, self.done = clock(), 0

    def finished(self, count: int) -> None:
        """So many more items are done."""
        self.done += count

    def size(self) -> int:
        """Of the next batch."""
        each = (self.clock() - self.begin) * self.jobs / self.done if self.done else SECONDS
        fits = int(min(SECONDS / max(each, 1e-9), self.largest)) // self.together
        return max(fits, 1) * self.together

    def batches(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """*items* in order, cut when the next batch is asked for."""
        start = 0
        while start < len(items):
            end = start + self.size()
            yield items[start:end]
            start = end


def _undisturbed(work: Callable[[Any], Found], batch: Any, parent: int) -> tuple[int, Found]:
    """How many items, and *work* of them, in another process, where Ctrl-C is left to the *parent*;
    without that (0: somebody else's) it ends.
    """
    if threading.current_thread() is threading.main_thread():
        with suppress(ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    if parent and os.getppid() == parent:
        _watch(parent)
    return len(batch), work(batch)


@cache
def _watch(parent: int) -> None:
    """Ends this process soon after *parent* is gone: loky's workers would stay for minutes after a
    kill.
    """

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _backend(workers: Workers, jobs: int) -> Iterator[dict[str, Any]]:
    """Options of joblib; a Dask client lives as long as the work. Raises InputError: no Dask here,
    no scheduler there.
    """
    if workers.backend == "loky":
        yield {"backend": "loky"}
        return
    with _client(workers, jobs):
        yield {"backend": "dask"}


def _client(workers: Workers, jobs: int) -> Any:
    """A Dask client, to be closed. Raises InputError: no Dask, no scheduler, no worker."""
    try:
        from dask.distributed import Client
    except ImportError:
        raise InputError(
            "Dask is not installed; run: pip install 'c3sim[dask]'", "--backend"
        ) from None
    try:
        if workers.scheduler:
            client: Any = Client(workers.scheduler, timeout="10s")  # type: ignore[no-untyped-call]
        else:
            local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
            client = Client(**local)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        message = f"no scheduler answers there ({reason}); an address is as tcp://host:8786"
        raise InputError(message, "--scheduler", workers.scheduler or "") from None
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.close()
        message = f"this scheduler has no workers; start one: dask worker {workers.scheduler}"
        raise InputError(message, "--scheduler", workers.scheduler or "")
    return client

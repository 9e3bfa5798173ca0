"""The threads that compute the shares of a step."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import torch

Given = ParamSpec("Given")
Found = TypeVar("Found")


class CallingThread(Executor):
    """Computes what it is asked for at once, in the thread that asks."""

    def submit(
        self, work: Callable[Given, Found], /, *args: Given.args, **named: Given.kwargs
    ) -> Future[Found]:
        """The result, or the error."""
        future: Future[Found] = Future()
        try:
            future.set_result(work(*args, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def workers(threads: int, device: torch.device) -> Executor:
    """Threads of one core each; on a GPU the thread of the run.

    A GPU computes in the order in which it is asked, so threads would only wait for one another;
    and each of them would have a current GPU of its own.
    """
    if device.type != "cpu":
        return CallingThread()
    return ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))

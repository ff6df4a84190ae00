"""What the suites of several folders share: a whole sandbox of each profile, and a real RabbitMQ."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from functools import cache

import pytest
from httpx._transports import default as transports
from hypothesis import settings

from tests.compose.stack import stack
from tests.expected_deviations import mark_differences
from tests.profile_sandboxes import localstack_home, profile_sandboxes
from tests.programs import Programs, broker_url, mark_by_fixtures, tell_what_is_left_out
from tests.property_examples import share_examples

__all__ = ["broker_url", "localstack_home", "profile_sandboxes", "stack"]

# A property holds or it does not; how fast is for the benchmark to say, on a machine that does nothing else.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Every HTTP client reads the certificates of all authorities, 20 ms each time, and meets none of them here.
transports.create_ssl_context = cache(transports.create_ssl_context)

# Nobody watches the TUI of a test: a screen that has changed is drawn a few times a second, not sixty times.
os.environ.setdefault("TEXTUAL_FPS", "15")

# The collector would go through all that was imported and collected again and again: a third of the time.
_AS_PYTHON_HAS_IT = gc.get_threshold()
_SELDOM = (50_000, 20, 20)
gc.set_threshold(*_SELDOM)


@pytest.fixture
def usual_collector() -> Iterator[None]:
    """Collect garbage as often as the sandbox does: for tests that measure this process's memory."""
    gc.set_threshold(*_AS_PYTHON_HAS_IT)
    yield
    gc.set_threshold(*_SELDOM)


def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores, since nearly half of a test's time is waiting, of the slow ones' too."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + cores // 2


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Programs())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that runs us in the background has it ignored, and so would the programs that we interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_differences(items)
    mark_by_fixtures(items)
    share_examples(items, config.getoption("markexpr"))
    # So that no worker begins a long test when the other has none left.
    items.sort(key=_time_allowed, reverse=True)


def _time_allowed(item: pytest.Item) -> float:
    """The seconds of its mark ``timeout``; 0 without one."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark else 0.0


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tell_what_is_left_out(terminalreporter, config)

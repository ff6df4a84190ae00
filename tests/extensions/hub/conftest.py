from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.extensions.hub.running_hub import RunningHub, start_hub


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """A hub for the tests of a file, in which nobody has a seat yet."""
    with start_hub(tmp_path_factory.mktemp("hub")) as found:
        yield found

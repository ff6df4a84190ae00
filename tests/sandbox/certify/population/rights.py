"""Which of the right clients are tried each time, and which when time is no matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.sandbox.certify.population.kind import Shape


def first_of_each(shapes: Iterable[Shape]) -> list[Any]:
    """These shapes as parameters of a test, all but the first of each role and channel marked as long."""
    parameters, tried = [], set()
    for shape in shapes:
        again = (shape.role, shape.channel) in tried
        tried.add((shape.role, shape.channel))
        parameters.append(pytest.param(shape, id=shape.id, marks=pytest.mark.long if again else ()))
    return parameters

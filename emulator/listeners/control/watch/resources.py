"""``GET /picture``: the picture of the sandbox, once or live; all who watch share the making of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Final, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from emulator.clock import stopwatch
from emulator.kinesis import KinesisError
from emulator.listeners.control.endpoint_routing import handles
from emulator.listeners.control.live_answers import LiveAnswers, wants_live
from emulator.listeners.control.watch.picture_maker import PictureMaker
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.picture import Picture

PAUSE_SECONDS: Final = 0.5
"""The real time between two pictures."""
SHARE: Final = 1 / 30
"""The most of a core that pictures take: a longer one is followed by a longer pause."""
_AGAIN_SECONDS: Final = 10.0
_encode = msgspec.json.Encoder().encode


class _Taken(NamedTuple):
    """A picture, when it was made, and the pause before the next, in real seconds.

    ``content`` is equal for pictures in which nothing but a running clock differs.
    """

    picture: Picture
    content: bytes
    at: float
    pause: float


class PictureResources:
    """``/picture``."""

    def __init__(self, maker: PictureMaker, live: LiveAnswers) -> None:
        self._maker = maker
        self._live = live
        self._taking = asyncio.Lock()
        self._taken: _Taken | None = None

    @handles(SandboxState.picture)
    async def picture(self, request: Request) -> Picture | StreamingResponse:
        if wants_live(request):
            return self._live.answer(self._follow(), held=1)
        async with self._taking:
            return (await run_in_threadpool(self._take)).picture

    async def _follow(self) -> AsyncGenerator[bytes, None]:
        shown, sent_at = b"", 0.0
        while True:
            try:
                taken = await self._share()
            except KinesisError:
                # An upstream does not answer: what is shown stays until it does.
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            # The clocks of two machines drift apart, so a page gets the reading now and then in any case.
            if taken.content != shown or stopwatch() - sent_at > _AGAIN_SECONDS:
                shown, sent_at = taken.content, stopwatch()
                yield b"data: %b\n\n" % _encode(taken.picture)
            await asyncio.sleep(taken.pause)

    async def _share(self) -> _Taken:
        """The last picture, or a new one where its pause is over."""
        async with self._taking:
            taken = self._taken
            if taken is None or stopwatch() - taken.at >= taken.pause * 0.9:
                self._taken = taken = await run_in_threadpool(self._take)
            return taken

    def _take(self) -> _Taken:
        began, used = stopwatch(), time.thread_time()
        picture = self._maker.make()
        content = _encode(msgspec.structs.replace(picture, clock=_without_running_time(picture.clock)))
        ended, cost = stopwatch(), time.thread_time() - used
        # An upstream that takes long to answer is not asked all the time either.
        return _Taken(picture, content, ended, max(PAUSE_SECONDS, cost / SHARE, ended - began))


def _without_running_time(clock: ClockReading) -> ClockReading:
    running = clock.real or clock.speed > 0
    return msgspec.structs.replace(clock, time=0.0 if running else clock.time, elapsed=0.0)

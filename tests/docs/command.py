"""The command ``sandbox`` as the blocks of a page find it: as it is, but for what a person would end by hand.

``up`` is started as with ``--detach``, since nobody is there to open another terminal. What goes on until
Ctrl-C, or for minutes, gets Ctrl-C once it has nothing more to say. The TUI gets a terminal, and ``q`` once
it has drawn itself.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress

from emulator.clock import Clock
from tests.waiting import wait_until

_SECONDS = 60.0
_QUIET_SECONDS = 2.0
_REAL = [sys.executable, "-m", "sandbox"]
_ENDLESS = (
    ("receive", "--follow"),
    ("topic", "subscribe"),
    ("pipeline", "--follow"),
    ("scenario", "--pace"),
    ("diagnose", "--watch"),
)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["tui"]:
        return _in_a_terminal([*_REAL, *arguments])
    if any({*words} <= {*arguments} for words in _ENDLESS) and not {"--limit", "--count"} & {*arguments}:
        # What the pipeline does while it follows is seen in its tables, not on its output.
        return _until_quiet([*_REAL, *arguments], silent="pipeline" in arguments)
    if arguments[:1] == ["up"] and "--detach" not in arguments:
        arguments = [*arguments, "--detach"]
    port = os.environ["EXAMPLE_PORT"]
    if arguments[:2] == ["adaptor", "example"]:
        arguments += ["--port", port]
    elif arguments[:1] == ["adaptor"] and any(f":{port}" in each for each in arguments):
        _wait_until_listening(int(port))
    from sandbox.cli import main as run

    sys.argv = ["sandbox", *arguments]
    return run(arguments)


def _wait_until_listening(port: int) -> None:
    """Wait for the application that the page started before, in the background, as a person would."""

    def listens() -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=_SECONDS).close()
            return True
        return False

    wait_until(listens, seconds=_SECONDS, shown=lambda: f"nothing listens on {port}")


def _until_quiet(command: list[str], *, silent: bool) -> int:
    """Ctrl-C as soon as it has said something and then nothing for a while; 130 is how that ends.

    What is ``silent`` has as long as others have at most.
    """
    clock = Clock()
    # A shell that runs the tests in the background has Ctrl-C ignored, and so would the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout
        deadline, said = clock.elapsed() + _SECONDS, False
        while clock.elapsed() < deadline and process.poll() is None:
            ready, _, _ = select.select([process.stdout], [], [], _QUIET_SECONDS)
            if not ready and said:
                break
            if ready and (data := os.read(process.stdout.fileno(), 65_536)):
                said = True
                os.write(1, data)
        process.send_signal(signal.SIGINT)
        # Spark ends with its batch, which takes as long as the machine is slow.
        rest, _ = process.communicate(timeout=4 * _SECONDS)
        sys.stdout.write(rest.decode())
        code = process.returncode
    if not said and not silent:
        sys.stderr.write(f"{' '.join(command)} said nothing for {_SECONDS} s\n")
        return 1
    return 0 if code in {0, 130} else code


def _in_a_terminal(command: list[str]) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="160", LINES="40")
        os.execv(command[0], command)
    drawn = b""
    while b"Streams" not in drawn:
        drawn += os.read(terminal, 65_536)
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 65_536):
            pass
    except OSError:
        pass  # its end of the terminal is closed
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Which process listens on a port of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

_LISTENING: Final = "0A"
_LSOF_SECONDS: Final = 10


def find_holder(port: int) -> str | None:
    """The process that listens on a TCP port, as ``process 123 (name)``; None where it cannot be seen."""
    if Path("/proc/net/tcp").exists():
        return _find_in_proc(port)
    try:
        command = ["lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fpc"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LSOF_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    fields = {line[0]: line[1:] for line in ran.stdout.splitlines() if line}
    return f"process {fields['p']} ({fields.get('c', '?')})" if "p" in fields else None


def _find_in_proc(port: int) -> str | None:
    """As proc(5) has it: a socket's inode is a link of the processes that have it open."""
    sockets = {f"socket:[{inode}]" for inode in _list_inodes(port)}
    for folder in Path("/proc").glob("[0-9]*") if sockets else ():
        try:
            if any(_is_one_of(sockets, each) for each in (folder / "fd").iterdir()):
                return f"process {folder.name} ({(folder / 'comm').read_text().strip()})"
        except OSError:  # another user's process, or one that ended meanwhile
            continue
    return None


def _is_one_of(sockets: set[str], descriptor: Path) -> bool:
    try:
        return str(descriptor.readlink()) in sockets
    except OSError:  # closed meanwhile, as that of this listing is
        return False


def _list_inodes(port: int) -> set[str]:
    found = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", name).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found

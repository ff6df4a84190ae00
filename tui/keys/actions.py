"""The registry of actions: bindings, footer, help, command palette, keymaps and docs are made from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from textual.binding import Binding

from rdss_sandbox.installed_extensions import list_extensions


class ActionGroup(StrEnum):
    """Where an action works; the value is the heading in the help."""

    EVERYWHERE = "Everywhere"
    LIST = "In every list"
    MESSAGES = "In message lists"
    MESSAGE = "With messages"
    STREAMS = "Streams"
    AUDIT = "Audit"
    SEQUENCES = "Sequences"
    ERRORS = "Error queues"
    FAULTS = "Faults"
    BUCKETS = "Buckets"
    SCENARIOS = "Scenarios"
    RUN = "A recorded run"


@dataclass(frozen=True, slots=True)
class Action:
    """A user action. ``id`` is its name in keymaps; ``label`` is its text in the footer.

    ``group`` is one of ours, or the label of a screen that an extension has.

    ``keys`` are separated by commas. Without room for all keys, the footer leaves out those with the lowest
    ``worth``; it never shows one that is worth 0.
    """

    id: str
    keys: str
    label: str
    help: str
    group: str
    worth: int = 0

    @property
    def handler(self) -> str:
        """The Textual action that it runs."""
        _, _, name = self.id.partition(".")
        return f"go('{name.removeprefix('go_')}')" if name.startswith("go_") else name

    def binding(self) -> Binding:
        first, _, _ = self.keys.partition(",")
        shown_as = KEY_NAMES.get(first)
        return Binding(
            self.keys, self.handler, self.label, bool(self.worth), shown_as, id=self.id, tooltip=self.help
        )


def _in(
    group: ActionGroup, *rows: tuple[str, str, str, str] | tuple[str, str, str, str, int]
) -> Iterator[Action]:
    for name, keys, label, sentence, *worth in rows:
        yield Action(f"{group.name.lower()}.{name}", keys, label, sentence, group, *worth)


_NUMBERS: Final = "1234567890"
SCREENS: Final = tuple(
    sorted(
        (screen for extension in list_extensions() for screen in extension.screens),
        key=lambda screen: _NUMBERS.find(screen.key) % (len(_NUMBERS) + 1),
    )
)
"""The screens of extensions, in the order of the keyboard."""

# fmt: off
ACTIONS: tuple[Action, ...] = (
    *_in(
        ActionGroup.EVERYWHERE,
        ("go_streams", "1", "Streams", "Streams, their shards, and the messages in them."),
        ("go_sequences", "2", "Sequences", "Messages sent in several parts: what came, what is missing."),
        ("go_audit", "3", "Audit", "The audit log, and one message's way through everything."),
        ("go_errors", "4", "Errors", "The error and invalid queues: why a message is there."),
        ("go_faults", "5,f", "Faults", "The faults in force, those there are, and the clock."),
        ("go_buckets", "6", "Buckets", "Objects in the buckets, and what is in them."),
        ("go_scenarios", "7", "Scenarios", "Bad days to play and to follow step by step."),
        *((f"go_{each.name}", each.key, each.label, each.help) for each in SCREENS),
        ("goto", "colon", "Go to", "Anything by its name; among messages also a time, #123 or LATEST.", 7),
        ("help", "question_mark,f1", "Help", "This page.", 10),
        ("theme", "ctrl+t", "Light or dark", "Change between the light and the dark theme."),
        ("quit", "q", "Quit", "Leave; the sandbox goes on running.", 9),
    ),
    *_in(
        ActionGroup.LIST,
        ("cursor_up", "up,k", "Up", "One row up."),
        ("cursor_down", "down,j", "Down", "One row down."),
        ("page_up", "pageup,ctrl+b", "Page up", "A screenful up."),
        ("page_down", "pagedown,ctrl+f", "Page down", "A screenful down."),
        ("first", "g,home", "First", "The first row."),
        ("last", "G,end", "Last", "The last row."),
        ("open", "enter", "Open", "Show the row in full, or choose it.", 8),
    ),
    *_in(
        ActionGroup.MESSAGES,
        ("filter", "slash", "Filter", "Show only what matches: type:*Create size>500k -mark:late", 8),
        ("follow", "t", "Tail", "Stay at the newest message, or stop staying there.", 5),
        ("pause", "space", "Pause", "Hold the list still; what arrives is counted and kept.", 5),
        ("next_match", "n", "Next match", "With no filter on: the next match of the last filter.", 2),
        ("previous_match", "N", "Previous match", "The same, backwards."),
        ("all", "escape", "Back", "Close the detail; then drop the filter, staying on the same message.", 3),
        ("next_tab", "right_square_bracket", "Next tab", "The detail's next: header, body, raw, history.", 3),
        ("previous_tab", "left_square_bracket", "Previous tab", "The detail's tab before."),
    ),
    *_in(
        ActionGroup.MESSAGE,
        ("redrive", "x", "Redrive", "Send the message again, to the stream it came from.", 7),
        ("edit", "E", "Edit", "Edit the message, see what the contract says of it, and send it.", 7),
        ("diff", "d", "Diff", "Compare with the message marked before; a duplicate with its first.", 5),
        ("sequence", "equals_sign", "Sequence", "The other parts of this message.", 4),
        ("life", "l", "Life line", "Where this message has been: every stream, fault and queue.", 8),
        ("copy", "y", "Copy", "Copy the message as it was sent to the clipboard.", 3),
        ("export", "e", "Export", "Write every message of the list to a file, one JSON text a line.", 3),
        ("import", "i", "Import", "Send every message of such a file to a stream.", 3),
    ),
    *_in(
        ActionGroup.STREAMS,
        ("split", "S", "Split", "Split the shard under the cursor at its middle, or the stream's widest.", 6),
        ("readers", "r", "Readers", "Who reads the streams and how far behind. Again: the tree.", 8),
        ("events", "v", "Events", "What happens, in sentences; enter shows one whole. Again: the tree.", 8),
        ("plots", "p", "Plots", "Rate and lag of what is under the cursor, in time. Again: the tree.", 8),
        ("findings", "w", "Findings", "What clients of the streams do wrong, with the evidence.", 6),
        ("merge", "M", "Merge", "Merge the shard with its neighbour, or the two narrowest.", 6),
    ),
    *_in(
        ActionGroup.AUDIT,
        ("place", "b", "Stream or bucket", "Its entries from the audit stream, or from the bucket.", 8),
    ),
    *_in(
        ActionGroup.SEQUENCES,
        ("unfinished", "u", "Unfinished", "Only sequences with a part missing, or all of them.", 8),
    ),
    *_in(
        ActionGroup.ERRORS,
        ("redrive_all", "X", "Redrive all", "Send every message of the list where it came from.", 6),
    ),
    *_in(
        ActionGroup.FAULTS,
        ("add", "a", "Add", "Add a fault of the kind under the cursor: a form with its settings.", 8),
        ("pause_fault", "space", "Pause", "Pause the fault, or let it go on.", 7),
        ("remove", "delete,backspace,r", "Remove", "Remove the fault.", 7),
        ("freeze", "z", "Freeze", "Stop the sandbox's clock, or let it run.", 7),
        ("advance", "plus", "Advance", "Let time pass at once: 30s, 6m, 2h.", 7),
        ("real_time", "Z", "Real time", "Put the clock back to real time.", 6),
    ),
    *_in(
        ActionGroup.BUCKETS,
        ("up", "backspace,left,h", "Up", "Out of the folder, back to the buckets.", 8),
        ("prefix", "slash", "Prefix", "Only objects whose key begins so.", 8),
    ),
    *(
        Action(f"{each.name}.{action.name}", *action[1:4], each.label, action.worth)
        for each in SCREENS
        for action in each.actions
    ),
    *_in(
        ActionGroup.SCENARIOS,
        ("seeded", "s", "With a seed", "Play it with a seed of yours: the same seed, the same run.", 8),
        ("explain", "w", "Why", "All that the scenario teaches, to scroll in. Again: the list.", 8),
    ),
    *_in(
        ActionGroup.RUN,
        ("play", "space", "Play", "Let it happen, or hold it.", 8),
        ("step", "right,l", "Step", "One event further.", 7),
        ("step_back", "left,h", "Back", "One event back.", 6),
        ("next_turn", "n", "Next turn", "On to the next fault, crash, resharding or refusal.", 7),
        ("previous_turn", "N", "Turn before", "Back to the one before.", 4),
        ("faster", "plus", "Faster", "Twice as fast.", 5),
        ("slower", "minus", "Slower", "Half as fast.", 5),
        ("explain", "w", "Why", "On a small screen: what the run teaches, or the events again.", 8),
        ("leave", "escape", "Leave", "Back to where you came from.", 6),
    ),
)
# fmt: on


def bindings(group: str) -> list[Binding]:
    """The bindings for a widget or screen of this group."""
    return [action.binding() for action in ACTIONS if action.group == group]


SHORT_LABELS = {"Sequences": "Seq", "Scenarios": "Scen"} | {
    each.label: each.short for each in SCREENS if each.short
}
"""Labels of screens where there is no room for the whole word."""


def places() -> Iterator[tuple[str, str, str]]:
    """The screens with a key: the key, the screen's mode, its label."""
    for action in ACTIONS:
        group, _, name = action.id.partition(".")
        if group == "everywhere" and name.startswith("go_"):
            yield action.keys.partition(",")[0], name.removeprefix("go_"), action.label


KEY_NAMES = {
    "slash": "/", "right_square_bracket": "]", "left_square_bracket": "[", "question_mark": "?", "colon": ":",
    "equals_sign": "=", "plus": "+", "minus": "-",
    "pageup": "PgUp", "pagedown": "PgDn", "up": "↑", "down": "↓", "left": "←", "right": "→",
    "escape": "esc", "space": "␣", "enter": "⏎", "delete": "del", "backspace": "⌫",
}  # fmt: skip


def keys_for_people(keys: str) -> str:
    """The names on the keyboard: ``slash,f1`` becomes ``/ or f1``."""
    return " or ".join(KEY_NAMES.get(key, key) for key in keys.split(","))

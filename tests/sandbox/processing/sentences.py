"""What the description of asynchronous messages says, sentence by sentence, in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

SENTENCES: Final = {
    "A1": "a message that comes in is persisted first and put into the queue almost at once",
    "A2": "new messages are not looked up in the store, and so are not locked for a node",
    "A3": "only messages PARTLY_FAILED and POSTPONED are pulled from the store",
    "A4": "messages are kept in a queue in memory",
    "A5": "a message is routed to the start endpoint that its service and operation name",
    "A6": "service and operation are values that come with the message",
    "B1": "a route is given the message's record, and its payload as it came",
    "B2": "each call to an outside system is checked for repetition",
    "B3": "a message of which one call succeeded and another failed is PARTLY_FAILED and processed again",
    "B4": "when it is, the calls that succeeded are left out",
    "B5": "how often and at what intervals a message is processed can be set",
    "B6": "a blank attempt is no error, and does not raise the failed count",
    "C1": "an expected error and any other error of a call are both errors of the message's processing",
    "C2": "a business error makes no sense to repeat",
    "C3": "a technical error of an outside system has the call tried for some time",
    "C4": "expected errors are remembered, and confirmed to the source at the end",
    "C5": "there may be several expected errors, each kept as a value of its own",
    "C6": "several outside systems can be called for one message",
    "C7": "the calls have an order: after one that fails the processing stops",
    "C8": "after a time that can be set the message is picked from the store and processed again",
    "C9": "a validation error ends the processing at once, as FAILED",
    "C10": "every route has the basic error handling",
    "C11": "an error can be handled in the route, or passed on to the route that called it",
    "D1": "state can be carried from one attempt to the next",
    "D2": "it can be any text",
    "D3": "at the end of the processing it is a part of the message's record",
    "E1": "obsolete messages are found at the outside call, if its key is of the entity or custom",
    "E2": "a message that failed is not processed further when a newer one of the same object succeeded",
    "E3": "an object is known by one identifier, the object id",
    "E4": "the object id is mandatory, and set when the message is received",
    "E5": "by default an object is identified by the name of the operation and the object id",
    "E6": "an entity type stands instead of the operation's name where several operations change one object",
    "E7": "an obsolete message ends SKIPPED, and is never processed again",
    "E8": "for messages that make new objects the check is useless",
    "F1": "a message that is too complex can be split into children",
    "F2": "a parent succeeds when all its children have",
    "F3": "a parent is FAILED when any child is",
    "F4": "the order of the list of children is the order of their first processing",
    "F5": "whoever splits is given the parent and its body, and gives the children",
    "F6": "children are first processed synchronously, one after another",
    "F7": "after a failure the order of children is not guaranteed",
    "F8": "children are processed independently of one another",
    "G1": "the source is told of the final state, OK, FAILED or CANCEL",
    "G2": "by default the result is only written to the log",
    "G3": "the source system decides how it is told",
    "G4": "not every system wants to be told",
    "G5": "each system can be told in its own way",
    "G6": "there is a way to tell over HTTP that needs no code",
    "H1": "receiving ends when the message is persisted; then its source has the word that it was taken",
}
"""Where the text only names a class of the framework there is nothing to show, and no entry."""

Test = TypeVar("Test", bound=Callable[..., Any])
ATTRIBUTE: Final = "shows_sentences"


def sentence(*numbers: str) -> Callable[[Test], Test]:
    """Mark a test as showing these sentences. KeyError for a number that there is not."""
    for number in numbers:
        SENTENCES[number]

    def mark(test: Test) -> Test:
        setattr(test, ATTRIBUTE, numbers)
        return test

    return mark

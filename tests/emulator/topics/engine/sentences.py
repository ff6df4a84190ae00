"""What the two texts say, sentence by sentence, in our words; each has a case in ``cases_*``.

A sentence is named after its text (P: publishing commands, C: content messages) and says on which lines it is
found. Lines that state nothing that could be shown are in ``SILENT``, with what they are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TEXTS: Final = {"P": "amps-publish-commands.txt", "C": "amps-content-messages.txt"}


class Sentence(NamedTuple):
    name: str
    lines: tuple[int, ...]
    says: str


SENTENCES: Final = (
    Sentence(
        "P01", (5,), "in a state of the world both commands insert a message, or update the one there is"
    ),
    Sentence(
        "P02", (7,), "the transaction log has what a publish or a delta comes to, as subscribers are sent it"
    ),
    Sentence("P03", (11,), "a delta takes the key fields and looks the record up by them"),
    Sentence("P04", (11,), "a delta overwrites the fields it has and appends those the record has not"),
    Sentence("P05", (13,), "a delta on a record that is not there is like a publish"),
    Sentence("P06", (13,), "a delta on a topic without a state of the world is like a publish"),
    Sentence("P07", (15,), "subscribers do not see that it was a delta: they are sent the merged record"),
    Sentence("P08", (22, 87), "the commands are called delta_publish and publish"),
    Sentence("P09", (23, 88), "topic says where the message is published"),
    Sentence("P10", (24, 89), "ack_type is a comma-separated list of kinds"),
    Sentence("P11", (25, 90), "every acknowledgement asked for has the cmd_id of its command"),
    Sentence("P12", (26, 91), "expiration is the lifetime of the message in seconds"),
    Sentence("P13", (27,), "seq rises, and tells a publisher's messages apart"),
    Sentence("P14", (28, 93), "correlation_id is passed to subscribers verbatim"),
    Sentence("P15", (28, 93), "without correlation_id subscribers get none"),
    Sentence("P16", (28, 93), "correlation_id has only characters that are legal in Base64"),
    Sentence("P17", (29, 94), "sow_key is the key where the topic has explicit keys"),
    Sentence("P18", (29, 94), "sow_key has only characters that are legal in Base64"),
    Sentence("P19", (35, 37), "received, processed and persisted are acknowledged with a status"),
    Sentence("P20", (39, 102), "persisted acknowledgements of commands that succeed can be conflated"),
    Sentence("P21", (42, 105), "no acknowledgement is sent by default, nor for none"),
    Sentence("P22", (43, 45, 106, 108), "completed: processed, and handed on to be persisted"),
    Sentence("P23", (47, 110), "completed includes all that processed stands for"),
    Sentence("P24", (49, 51, 53, 55, 112, 114, 116, 118), "persisted: everywhere it must be, it is"),
    Sentence("P25", (57, 120), "without replication persisted speaks of what is kept here"),
    Sentence("P26", (57, 120), "persisted is sent when asked for, even where nothing is kept"),
    Sentence("P27", (59, 61, 122, 124), "processed: the message has been processed"),
    Sentence("P28", (61, 124), "what is wrong with a message is in the processed acknowledgement"),
    Sentence("P29", (63, 126), "processed comes after entitlement and parsing have been checked"),
    Sentence("P30", (63, 126), "processed does not say that the message is persisted"),
    Sentence("P31", (65, 128), "received: the command has arrived"),
    Sentence("P32", (66, 129), "stats is not supported"),
    Sentence("P33", (72, 135), "an error is in the status of processed, and in the log"),
    Sentence("P34", (72, 135), "processed is sent only when asked for, whether it went well or not"),
    Sentence("P35", (76,), "a publish goes to the other clients with matching subscriptions"),
    Sentence(
        "P36", (78,), "it depends on the configuration whether it updates a state of the world or is logged"
    ),
    Sentence("P37", (80,), "the publisher says nothing of routing, keeping or state: configuration does"),
    Sentence("P38", (92,), "seq tells whether a message is there already, over restarts"),
    Sentence("P39", (100,), "a publisher can ask for processed"),
    Sentence("C01", (3, 5), "publish messages come in order, live or replayed"),
    Sentence("C02", (6,), "sow messages are the records as they are at the time of the query"),
    Sentence("C03", (6,), "without an order records come as they may; orderby orders them by their data"),
    Sentence("C04", (7,), "oof says that a message no longer matches a subscription, in order"),
    Sentence("C05", (13,), "a new message that matches is sent to the subscription"),
    Sentence("C06", (15,), "a message of one origin carries what its publisher said of it"),
    Sentence("C07", (15,), "that is so for topics that are not kept, that are, and for conflated ones"),
    Sentence("C08", (15,), "views join topics and aggregate over messages, so they have no one origin"),
    Sentence("C09", (15,), "a conflated topic has the headers of the message that it passes on"),
    Sentence("C10", (15,), "a message made by a delta has the headers of the delta"),
    Sentence("C11", (16, 18), "a synthetic message has neither origin nor correlation id"),
    Sentence("C12", (22, 25, 26), "a publish message is called publish and names its topic"),
    Sentence("C13", (27, 29), "correlation_id is as its publisher gave it, and none where there was none"),
    Sentence("C14", (31,), "after a delta: the delta's correlation id, else the record's, else none"),
    Sentence("C15", (33,), "user_id is who published"),
    Sentence("C16", (33,), "subscribers can be kept from knowing who published"),
    Sentence("C17", (34, 36), "sids lists all the subscriptions that one message is for"),
    Sentence("C18", (38,), "a client hands the message to each handler with one subscription id"),
    Sentence("C19", (40,), "bookmark is there if the message is in a transaction log"),
    Sentence("C20", (41,), "timestamp is ISO 8601, and there if the subscription asked for it"),
    Sentence("C21", (42,), "lease_period is when the lease of a queue's message ends"),
    Sentence("C22", (43,), "sow_key is there if the topic keeps a state of the world"),
    Sentence("C23", (51, 56, 57, 58), "a sow message is called sow, names its topic and has records"),
    Sentence("C24", (59, 72), "sow_key identifies each record"),
    Sentence("C25", (60,), "batch_size is how many records are in one message"),
    Sentence("C26", (61,), "timestamp is when the sow message was made"),
    Sentence("C27", (62,), "query_id is that of the query"),
    Sentence("C28", (63,), "msg_len is the length of the first record"),
    Sentence("C29", (69,), "a message has up to the batch size of records, each with its own header"),
    Sentence("C30", (73,), "a record has its correlation id, and none if it was published without"),
    Sentence("C31", (74,), "a record's msg_len is the length of the next"),
    Sentence("C32", (82,), "oof is only for what was received before and is out of focus now"),
    Sentence("C33", (87, 88, 89), "an oof message is called oof, names its topic and the key of the record"),
    Sentence("C34", (90,), "an oof has the reason deleted, expired, filter or entitlement"),
    Sentence("C35", (91,), "an oof lists the subscriptions that it is for, each handled by its own handler"),
    Sentence("C36", (92,), "an oof has the record's correlation id, and none where there is none"),
    Sentence("C37", (98,), "an oof has the updated message, but for entitlement"),
)

_TITLES: Final = {
    "P": (1, 9, 17, 21, 33, 41, 70, 74, 82, 86, 98, 104, 133),
    "C": (1, 9, 11, 20, 24, 47, 49, 53, 55, 67, 71, 78, 80, 84, 86, 96),
}
_CAPTIONS: Final = {"P": (31, 68, 96, 131), "C": (45, 65, 76, 94)}
_INTRODUCTIONS: Final = {"P": (3, 19, 84), "C": ()}
SILENT: Final = {text: frozenset((*_TITLES[text], *_CAPTIONS[text], *_INTRODUCTIONS[text])) for text in TEXTS}

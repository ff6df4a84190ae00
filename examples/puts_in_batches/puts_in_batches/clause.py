"""The clause that means the same as the rule: what ``sandbox certify producer`` demands."""

from puts_in_batches.rule import RULE
from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.clause import Clause, Group, Judgement, Role
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    """A file is there at once, so a producer that knows batches puts one, whatever becomes of it."""
    puts = history.puts()
    if any(len(put.entries) > 1 for put in puts):
        return Judgement(len(puts))
    said = f"{len(puts)} calls put one message each"
    return Judgement(len(puts), (Finding(said, Level.BRONZE, {"calls": len(puts)}),) if puts else ())


CLAUSE = Clause(
    id="puts-in-batches",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="A producer that has many messages puts several in one call.",
    source=RULE.source,
    exercise="The producer gets a file of messages.",
    needed=1,
    judge=judge,
    rules=(RULE,),
)

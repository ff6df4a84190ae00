"""Versions of digital objects that cannot be told apart, or that follow none."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Rule, count
from emulator.diagnosis.rules.bad_messages import judge_contents

_SOURCE = "RDSS Message API 4.0.0, Digital Object Versioning"
_LEFT_OUT = "Retries, answers, parts of sequences, and what is published again as it was are left out."

REUSED = Rule(
    id="reused-object-uuid",
    title="A new version under an objectUUID that was published before",
    harm=Harm.BREAKS,
    sign=(
        "A MetadataUpdate and another message have one objectUUID, other bodies, and another type or "
        f"predecessor; or an update is isNewVersionOf itself. {_LEFT_OUT}"
    ),
    sentence="An objectUUID must not be duplicated when subsequent versions of the object are published.",
    source="RDSS Message API 4.0.0, Digital Object Identification",
    advice="Give each version an objectUUID of its own, isNewVersionOf the one before.",
    judge=judge_contents(
        lambda contents: contents.reused,
        lambda contents: contents.updates,
        lambda bad: f"{count(len(bad), 'new version')} under a used objectUUID; the first: {bad[0].what}",
    ),
)

CHANGED = Rule(
    id="changed-object",
    title="An object that changed under its objectUUID",
    harm=Harm.BREAKS,
    sign=(
        "Two messages of one type have one objectUUID and other bodies, whatever isPreviousVersionOf says. "
        f"{_LEFT_OUT}"
    ),
    sentence="An object must get a new version when any file or property of it is altered.",
    source=_SOURCE,
    advice="Publish a change as MetadataUpdate with a new objectUUID, isNewVersionOf the one before.",
    judge=judge_contents(
        lambda contents: contents.changed,
        lambda contents: contents.objects,
        lambda bad: f"{count(len(bad), 'changed object')} with no new version; the first: {bad[0].what}",
    ),
)

UNLINKED = Rule(
    id="update-without-predecessor",
    title="An update that names no version before",
    harm=Harm.BREAKS,
    sign=(f"A MetadataUpdate has no related UUID with isNewVersionOf or isPreviousVersionOf. {_LEFT_OUT}"),
    sentence="A new version must name the previous version's objectUUID, with the relation isNewVersionOf.",
    source=_SOURCE,
    advice="Add objectRelatedIdentifier: isNewVersionOf, with the objectUUID of the version before.",
    judge=judge_contents(
        lambda contents: contents.unlinked,
        lambda contents: contents.updates,
        lambda bad: f"{count(len(bad), 'update')} of no version before; the first: {bad[0].what}",
    ),
)

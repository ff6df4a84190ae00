"""The loaders of the audit log and the archives as functions, with the mappings of their streams."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_URL, uuid5

from emulator.archive import lambda_loader
from emulator.archive.stream_loading import MOST_RECORDS, DeployedLoading
from emulator.assembly.component import CannotRunError
from emulator.buckets.moto_buckets import OWN_AGENT
from emulator.channels.channel import Delivery
from emulator.rng import new_uuid
from extensions.functions.engine.function import Function, Place, Version
from extensions.functions.engine.function_code import zip_files
from extensions.functions.engine.functions import Functions
from extensions.functions.mappings.mapping import Mapping
from extensions.functions.mappings.mapping_store import MappingStore

if TYPE_CHECKING:
    from emulator.assembly.components import Components

_OURS: Final = {"sandbox": "lambda-loaders"}
"""The tag of what is deployed here, and removed again."""
_MODULE: Final = Path(lambda_loader.__file__)
_TIMEOUT_SECONDS: Final = 60
_MEGABYTES: Final = 512


class DeployedLoaders:
    """One function for each stream that the archives have loaded by one. No mapping runs meanwhile.

    They are deployed anew at each start, as the objects are made again from the streams then.
    """

    def __init__(self, components: Components, functions: Functions, store: MappingStore) -> None:
        self._archives = components.archives
        self._clock = components.clock
        self._home = components.home
        self._functions = functions
        self._store = store
        self._archives.find_trouble = self.find_trouble

    def remove(self) -> None:
        """Remove the functions and mappings that were deployed, by whatever process."""
        for mapping in self._store.list_in():
            if mapping.tags == _OURS:
                self._store.remove(mapping.uuid)
        for function in self._functions.list_in(*self._home):
            if function.tags == _OURS:
                self._functions.remove(function.place)

    def deploy(self) -> None:
        """Deploy them where they were removed. Raises CannotRunError where a name is taken."""
        for loading in self._archives.deployed:
            place = self._place_of(loading.stream)
            if self._functions.find(place) is not None:
                raise CannotRunError(
                    f"lambda_loaders is set, and there is a function {place.name} already: delete that, or "
                    "start without lambda_loaders"
                )
            self._functions.store(self._make_function(place, loading))
            self._store.put(self._make_mapping(place, loading))

    def find_trouble(self, stream: str) -> str:
        """Why a stream's loader is not invoked, or how its last invocation failed; "" where all is well."""
        name = self._place_of(stream).name
        mapping = self._store.find(_uuid_of(self._home.stream_arn(stream)))
        if mapping is None:
            return f"its mapping to {name} was deleted"
        if mapping.state != "Enabled":
            return f"its mapping to {name} is {mapping.state}"
        failed = mapping.result.startswith("PROBLEM")
        return f"{name}: {mapping.result}; sandbox lambda logs {name} shows why" if failed else ""

    def note_loaded(self, mapping: Mapping, batch: Sequence[Delivery]) -> None:
        """Tell the archives of a batch that a function took, if that is one of theirs."""
        if mapping.tags == _OURS:
            self._archives.note_loaded(mapping.source_name, batch)

    def _place_of(self, stream: str) -> Place:
        return Place(*self._home, f"{stream}-loader")

    def _make_function(self, place: Place, loading: DeployedLoading) -> Function:
        variables = {
            lambda_loader.BUCKET: loading.bucket,
            lambda_loader.SOURCES: "yes" if loading.sources else "no",
            # What the archives put is not stored a second time, and this tells it from what others put.
            "AWS_SDK_UA_APP_ID": OWN_AGENT,
        }
        latest = Version(
            runtime=f"python3.{sys.version_info.minor}",
            handler=f"{_MODULE.stem}.{lambda_loader.handler.__name__}",
            role="arn:aws:iam::000000000000:role/sandbox",
            description=f"Loads the stream {loading.stream} into the bucket {loading.bucket}.",
            timeout=_TIMEOUT_SECONDS,
            memory=_MEGABYTES,
            environment=variables,
            code=self._functions.code.add(zip_files({_MODULE.name: _MODULE.read_bytes()})),
            modified=self._clock.time(),
            revision=new_uuid(),
        )
        return Function(
            account=place.account, region=place.region, name=place.name, latest=latest, tags=_OURS
        )

    def _make_mapping(self, place: Place, loading: DeployedLoading) -> Mapping:
        source = self._home.stream_arn(loading.stream)
        return Mapping(
            uuid=_uuid_of(source),
            account=place.account,
            region=place.region,
            source=source,
            function=place.name,
            modified=self._clock.time(),
            batch_size=MOST_RECORDS,
            start="TRIM_HORIZON",
            tags=_OURS,
        )


def _uuid_of(source: str) -> str:
    """The mapping's, which is the same at each start."""
    return str(uuid5(NAMESPACE_URL, source))

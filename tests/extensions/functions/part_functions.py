"""Functions in a sandbox in which something of everything is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import boto3

from emulator.assembly.components import Components
from emulator.assembly.embedded import Embedded
from extensions.functions.component import FunctionComponent
from extensions.functions.engine.function_code import zip_files
from rdss_sandbox.client import Client
from tests.extensions.parts import Part

SOURCE = b"def handler(event, context): return event\n"


class FunctionPart(Part):
    component = FunctionComponent
    files = ("functions.log", "function-mappings.log", "function-events.log")
    kept_names = ("functions",)
    logs = ("functions.log", "function-mappings.log", "function-events.log")

    def fill(self, emulator: Embedded) -> None:
        lambda_ = _client(emulator)
        if lambda_.list_functions()["Functions"]:
            return  # A directory that was filled before.
        lambda_.create_function(
            FunctionName="echo",
            Runtime="python3.11",
            Handler="h.handler",
            Role="arn:aws:iam::000000000000:role/r",
            Code={"ZipFile": zip_files({"h.py": SOURCE})},
        )
        lambda_.create_event_source_mapping(
            FunctionName="echo",
            EventSourceArn="arn:aws:kinesis:us-east-1:000000000000:stream/input",
            StartingPosition="LATEST",
            Enabled=False,
        )
        lambda_.create_function(
            FunctionName="fails",
            Runtime="python3.11",
            Handler="h.none",
            Role="arn:aws:iam::000000000000:role/r",
            Code={"ZipFile": zip_files({"h.py": SOURCE})},
        )
        # It waits for its first retry.
        lambda_.invoke(FunctionName="fails", InvocationType="Event", Payload=b"{}")

    def change(self, emulator: Embedded) -> None:
        _client(emulator).update_function_configuration(FunctionName="echo", Timeout=9)

    def kept(self, components: Components) -> Mapping[str, Sequence[bytes]]:
        component = components.extensions["functions"]
        assert isinstance(component, FunctionComponent)
        return {"functions": component.find_service().functions.save()}

    def read(self, control: Client) -> Mapping[str, object]:
        del control
        return {}


def _client(emulator: Embedded) -> Any:
    return boto3.client(
        "lambda",
        endpoint_url=emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


PART = FunctionPart()

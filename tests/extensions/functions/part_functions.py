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
from tests.waiting import wait_until

STACK = "Resources: {Group: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: %s}}}"
SOURCE = b"def handler(event, context): return event\n"


class FunctionPart(Part):
    component = FunctionComponent
    files = ("functions.log", "function-mappings.log", "function-events.log", "stacks.log")
    kept_names = ("functions", "stacks")
    logs = files

    def fill(self, emulator: Embedded) -> None:
        lambda_ = _client(emulator, "lambda")
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
        stacks = _client(emulator, "cloudformation")
        stacks.create_stack(StackName="groups", TemplateBody=STACK % "one")
        _wait_for_stack(stacks)

    def change(self, emulator: Embedded) -> None:
        _client(emulator, "lambda").update_function_configuration(FunctionName="echo", Timeout=9)
        stacks = _client(emulator, "cloudformation")
        stacks.update_stack(StackName="groups", TemplateBody=STACK % "other")
        _wait_for_stack(stacks)

    def kept(self, components: Components) -> Mapping[str, Sequence[bytes]]:
        component = components.extensions["functions"]
        assert isinstance(component, FunctionComponent)
        return {
            "functions": component.find_service().functions.save(),
            "stacks": component.find_stacks().store.save(),
        }

    def read(self, control: Client) -> Mapping[str, object]:
        del control
        return {}


def _wait_for_stack(stacks: Any) -> None:
    wait_until(
        lambda: stacks.describe_stacks(StackName="groups")["Stacks"][0]["StackStatus"].endswith("_COMPLETE")
    )


def _client(emulator: Embedded, service: Any) -> Any:
    return boto3.client(
        service,
        endpoint_url=emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


PART = FunctionPart()

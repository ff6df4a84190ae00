"""Stacks of CloudFormation: what a template says is there, changes, and goes; what fails is undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from tests.extensions.functions.conftest import Aws
from tests.extensions.functions.stacks.deployed_stack import TEMPLATE, DeployedStack, receive
from tests.waiting import wait_until

NOON = 1_780_000_000.0
_TWO = [{"ParameterKey": "Level", "ParameterValue": "2"}]
_QUEUE = "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: %s, VisibilityTimeout: %s}}}"


def put(aws: Aws, stack: DeployedStack, text: str) -> None:
    outputs = stack.outputs()
    stream = outputs["Source"]
    aws.client("kinesis").put_record(StreamName=stream, PartitionKey="k", Data=text.encode())
    aws.client("sqs").send_message(QueueUrl=outputs["Work"], MessageBody=text)


def test_a_deployed_function_is_invoked_by_its_stream_and_its_queue(aws: Aws) -> None:
    """An update reaches it, and with the stack all that it made goes."""
    stack = DeployedStack(aws, "audit")
    assert stack.create(TEMPLATE)["StackStatus"] == "CREATE_COMPLETE"
    assert "Other" not in stack.resources()
    put(aws, stack, "a")
    results = stack.outputs()["Results"]
    assert receive(aws, results, 2) == [["aws:kinesis", "a", "1"], ["aws:sqs", "a", "1"]]
    before = stack.resources()
    assert stack.update(TEMPLATE, Parameters=_TWO)["StackStatus"] == "UPDATE_COMPLETE"
    assert stack.resources() == before
    put(aws, stack, "b")
    assert receive(aws, results, 2) == [["aws:kinesis", "b", "2"], ["aws:sqs", "b", "2"]]
    gone = stack.delete()
    assert gone["StackStatus"] == "DELETE_COMPLETE"
    left = aws.lambda_.list_functions()["Functions"]
    assert before["Handler"] not in [each["FunctionName"] for each in left]
    left = aws.lambda_.list_event_source_mappings()["EventSourceMappings"]
    assert not {before["Records"], before["Messages"]} & {each["UUID"] for each in left}
    assert before["Source"] not in aws.client("kinesis").list_streams()["StreamNames"]
    assert "QueueUrls" not in aws.client("sqs").list_queues(QueueNamePrefix="audit")
    missing = ("ValidationError", "Stack with id audit does not exist")
    assert stack.refusal("describe_stacks", StackName="audit") == missing


def test_a_failed_create_is_undone_and_says_why(aws: Aws) -> None:
    """The reason is the service's, in CloudFormation's frame; nothing of the stack is left."""
    stack = DeployedStack(aws, "broken")
    template = TEMPLATE.replace("python3.11", "cobol")
    assert stack.create(template)["StackStatus"] == "ROLLBACK_COMPLETE"
    failed = [each for each in stack.events() if each[1] == "CREATE_FAILED"]
    assert len(failed) == 1
    assert failed[0][0] == "Handler"
    assert "Resource handler returned message: \"1 validation error detected: Value 'cobol'" in failed[0][2]
    assert (
        "broken",
        "ROLLBACK_IN_PROGRESS",
        "The following resource(s) failed to create: [Handler]. Rollback requested by user.",
    ) in stack.events()
    assert stack.resources() == {}
    assert "QueueUrls" not in aws.client("sqs").list_queues(QueueNamePrefix="broken")
    given = {"StackName": "broken", "TemplateBody": template}
    code, said = stack.refusal("update_stack", **given)
    assert code == "ValidationError"
    assert said.endswith("is in ROLLBACK_COMPLETE state and can not be updated.")


def test_what_is_there_already_is_not_taken_and_not_deleted(aws: Aws) -> None:
    """A stack that names a queue of somebody else's fails, and leaves it."""
    sqs = aws.client("sqs")
    url = sqs.create_queue(QueueName="theirs")["QueueUrl"]
    stack = DeployedStack(aws, "thief")
    assert stack.create(_QUEUE % ("theirs", 30))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert any("theirs already exists" in why for _, _, why in stack.events())
    assert url in sqs.list_queues()["QueueUrls"]


def test_a_failed_update_is_undone(aws: Aws) -> None:
    """What it changed is as it was, what it made is gone, and the stack's template is the former."""
    stack = DeployedStack(aws, "undone")
    stack.create(_QUEUE % ("undone", 30))
    wrong = (_QUEUE % ("undone", 60)).replace(
        "}}}",
        "}, New: {Type: AWS::SQS::Queue}, Bad: "
        "{Type: AWS::SQS::Queue, DependsOn: [Q, New], Properties: {DelaySeconds: a}}}",
    )
    wrong = wrong.replace("60}, New", "60}}, New")
    assert stack.update(wrong)["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    queue = stack.resources()["Q"]
    sqs = aws.client("sqs")
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "30"
    assert sqs.list_queues(QueueNamePrefix="undone")["QueueUrls"] == [queue]
    assert stack.client.get_template(StackName="undone")["TemplateBody"] == _QUEUE % ("undone", 30)
    assert ("Bad", "UPDATE_FAILED") not in [each[:2] for each in stack.events()]


def test_what_cannot_change_is_made_anew(aws: Aws) -> None:
    """The new queue is there before the old one goes."""
    stack = DeployedStack(aws, "renamed")
    stack.create(_QUEUE % ("old", 30))
    assert stack.update(_QUEUE % ("new", 30))["StackStatus"] == "UPDATE_COMPLETE"
    assert stack.resources()["Q"].endswith("/new")
    statuses = [status for logical, status, _ in stack.events() if logical == "Q"]
    assert statuses[2:] == ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]


def test_a_change_set_says_what_it_would_do_and_does_it(aws: Aws) -> None:
    """As `sam deploy` and `cdk deploy` ask: a stack under review, its changes, its execution, and none."""
    stack = DeployedStack(aws, "reviewed")
    client = stack.client
    named = {"StackName": "reviewed", "ChangeSetName": "one"}
    client.create_change_set(**named, ChangeSetType="CREATE", TemplateBody=_QUEUE % ("reviewed", 30))
    assert stack.describe()["StackStatus"] == "REVIEW_IN_PROGRESS"
    described = client.describe_change_set(**named)
    assert described["Status"] == "CREATE_COMPLETE"
    change = {"Action": "Add", "LogicalResourceId": "Q", "ResourceType": "AWS::SQS::Queue"}
    assert described["Changes"] == [{"Type": "Resource", "ResourceChange": change}]
    client.execute_change_set(**named)
    assert stack.settle()["StackStatus"] == "CREATE_COMPLETE"
    again = {**named, "ChangeSetName": "two"}
    client.create_change_set(**again, TemplateBody=_QUEUE % ("reviewed", 30))
    none = client.describe_change_set(**again)
    assert (none["Status"], none["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert none["StatusReason"].startswith("The submitted information didn't contain changes.")
    assert stack.refusal("execute_change_set", **again)[0] == "InvalidChangeSetStatus"
    more = {**named, "ChangeSetName": "three"}
    client.create_change_set(**more, TemplateBody=_QUEUE % ("other", 30))
    (change,) = client.describe_change_set(**more)["Changes"]
    assert (change["ResourceChange"]["Action"], change["ResourceChange"]["Replacement"]) == ("Modify", "True")


def test_the_transform_of_sam_is_done_here(aws: Aws) -> None:
    """A serverless function is a function with a role, a version, an alias and a mapping to the alias."""
    stack = DeployedStack(aws, "serverless")
    template = {
        "Transform": "AWS::Serverless-2016-10-31",
        "Resources": {
            "Source": {"Type": "AWS::Kinesis::Stream", "Properties": {"ShardCount": 1}},
            "Handler": {
                "Type": "AWS::Serverless::Function",
                "Properties": {
                    "InlineCode": "def handler(event, context): return len(event)",
                    "Handler": "index.handler",
                    "Runtime": "python3.11",
                    "AutoPublishAlias": "live",
                    "Events": {
                        "Records": {
                            "Type": "Kinesis",
                            "Properties": {
                                "Stream": {"Fn::GetAtt": ["Source", "Arn"]},
                                "StartingPosition": "LATEST",
                            },
                        }
                    },
                },
            },
        },
    }
    assert stack.create(json.dumps(template))["StackStatus"] == "CREATE_COMPLETE", stack.events()
    function = stack.resources()["Handler"]
    assert aws.invoke(function, b'{"a": 1}', Qualifier="live") == (b"1", "")
    (mapping,) = aws.lambda_.list_event_source_mappings(FunctionName=f"{function}:live")[
        "EventSourceMappings"
    ]
    assert mapping["State"] == "Enabled"
    template["Resources"]["Handler"]["Properties"]["Nothing"] = 1
    code, said = stack.refusal("update_stack", StackName="serverless", TemplateBody=json.dumps(template))
    assert code == "ValidationError"
    assert said.startswith("Transform AWS::Serverless-2016-10-31 failed with: Invalid Serverless Application")


_SHORTER = "Member must have length less than or equal to 51200"
_ROLE = "Resources: {R: {Type: AWS::IAM::Role, Properties: {RoleName: r}}}"
REFUSED = {
    "no template": ("[1", "Template format error: YAML not well-formed. (line 1, column 3)"),
    "no resources": (
        "Resources: {}",
        "Template format error: At least one Resources member must be defined.",
    ),
    "a section": ("Resource: {}", "Invalid template property or properties [Resource]"),
    "a type": (
        "Resources: {A: {Type: AWS::EC2::VPC}}",
        "Template format error: Unrecognized resource types: [AWS::EC2::VPC]",
    ),
    "no type": (
        "Resources: {A: {}}",
        "Template format error: [/Resources/A] Every Resources object must contain a Type member.",
    ),
    "a reference": (
        "Resources: {A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref B}}}",
        "Template format error: Unresolved resource dependencies [B] in the Resources block of the template",
    ),
    "a circle": (
        "Resources: {A: {Type: AWS::SQS::Queue, DependsOn: B}, B: {Type: AWS::SQS::Queue, DependsOn: A}}",
        "Circular dependency between resources: [A, B]",
    ),
    "an alias": (
        "Resources: {A: &a {Type: AWS::SQS::Queue}, B: *a}",
        "Template error: YAML aliases are not allowed in CloudFormation templates",
    ),
    "a transform": ("{Transform: Own, Resources: {A: {Type: B}}}", "No transform named Own found."),
    "a parameter": (
        "{Parameters: {P: {Type: String}}, Resources: {A: {Type: AWS::SQS::Queue}}}",
        "Parameters: [P] must have values",
    ),
    "a value": (
        "{Parameters: {P: {Default: c, AllowedValues: [a, b]}}, Resources: {A: {Type: AWS::SQS::Queue}}}",
        "Parameter 'P' must be one of AllowedValues: [a, b]",
    ),
    "a name of a role": (_ROLE, "Requires capabilities : [CAPABILITY_NAMED_IAM]"),
    "a long template": (
        "Description: " + "a" * 51_200,
        f"1 validation error detected: Value at 'templateBody' failed to satisfy constraint: {_SHORTER}",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_template_is_refused_in_awss_words(aws: Aws, what: str) -> None:
    """At once, and no stack is there."""
    template, said = REFUSED[what]
    stack = DeployedStack(aws, "refused")
    given = {"StackName": "refused", "TemplateBody": template, "Capabilities": ["CAPABILITY_IAM"]}
    code, found = stack.refusal("create_stack", **given)
    assert found == said
    assert code == ("InsufficientCapabilitiesException" if what == "a name of a role" else "ValidationError")
    assert stack.refusal("describe_stacks", StackName="refused")[1] == "Stack with id refused does not exist"


def test_a_wrong_property_fails_its_resource(aws: Aws) -> None:
    """With CloudFormation's words for what a type has not, and for what it needs."""
    stack = DeployedStack(aws, "properties")
    stack.create("Resources: {F: {Type: AWS::Lambda::Function, Properties: {Nmae: a, Role: r}}}")
    why = next(why for logical, status, why in stack.events() if (logical, status) == ("F", "CREATE_FAILED"))
    assert why == (
        "Properties validation failed for resource F with message:\n"
        "[#: extraneous key [Nmae] is not permitted, #: required key [Code] not found]"
    )


def test_a_protected_stack_is_not_deleted(aws: Aws) -> None:
    """Until its protection ends; a retained resource outlives it."""
    stack = DeployedStack(aws, "protected")
    template = (_QUEUE % ("kept", 30)).replace("Properties", "DeletionPolicy: Retain, Properties")
    stack.create(template, EnableTerminationProtection=True)
    said = stack.refusal("delete_stack", StackName="protected")[1]
    assert said == "Stack [protected] cannot be deleted while TerminationProtection is enabled"
    stack.client.update_termination_protection(StackName="protected", EnableTerminationProtection=False)
    assert stack.describe()["EnableTerminationProtection"] is False
    assert stack.delete()["StackStatus"] == "DELETE_COMPLETE"
    assert aws.client("sqs").get_queue_url(QueueName="kept")["QueueUrl"]


def test_a_stack_on_its_way_goes_on_with_the_next_process(tmp_path: Path) -> None:
    """What was made is not made again, and the outputs are those of both."""
    settings = Settings(aws_port=0, control_port=0, data_dir=tmp_path, amqp="none", transition_seconds=60)
    with embedded(settings, Clock(frozen_at=NOON)) as emulator:
        stack = DeployedStack(Aws(emulator), "long")
        stack.client.create_stack(
            StackName="long", TemplateBody=TEMPLATE, Capabilities=["CAPABILITY_NAMED_IAM"]
        )
        waiting = ("Source", "CREATE_IN_PROGRESS", "")
        wait_until(lambda: waiting in stack.events())
        assert stack.describe()["StackStatus"] == "CREATE_IN_PROGRESS"
        made = {name: each for name, each in stack.resources().items() if each}
    with embedded(settings, Clock(frozen_at=NOON)) as emulator:
        stack = DeployedStack(Aws(emulator), "long")
        emulator.components.clock.advance(60)
        assert stack.settle()["StackStatus"] == "CREATE_COMPLETE"
        assert made.items() <= stack.resources().items()
        identity = stack.describe()["StackId"]
        stack.client.delete_stack(StackName="long")

        def is_gone() -> bool:
            emulator.components.clock.advance(60)  # the stream is deleted for as long as it was made
            return bool(stack.describe(identity)["StackStatus"] == "DELETE_COMPLETE")

        wait_until(is_gone)

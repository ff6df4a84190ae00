"""SAM and the CDK, unmodified: what they deploy is a function that its stream and its queue invoke."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_clients import install
from tests.real_clients.sandbox_process import Sandbox, installed
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_client, pytest.mark.slow, pytest.mark.timeout(900)]

HANDLER = """
import base64, boto3, os
def handler(event, context):
    for record in event["Records"]:
        data = record.get("kinesis", {}).get("data")
        text = base64.b64decode(data).decode() if data else record["body"]
        body = f"{record['eventSource']} {text} GREETING"
        boto3.client("sqs").send_message(QueueUrl=os.environ["RESULTS"], MessageBody=body)
"""
SAM = """
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Parameters: {Batch: {Type: Number, Default: 10}}
Resources:
  Source: {Type: AWS::Kinesis::Stream, Properties: {ShardCount: 1}}
  Work: {Type: AWS::SQS::Queue}
  Results: {Type: AWS::SQS::Queue}
  Handler:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: src
      Handler: app.handler
      Runtime: python3.11
      Timeout: 10
      AutoPublishAlias: live
      Environment: {Variables: {RESULTS: !Ref Results}}
      Events:
        Records:
          Type: Kinesis
          Properties: {Stream: !GetAtt Source.Arn, StartingPosition: TRIM_HORIZON, BatchSize: !Ref Batch}
        Messages: {Type: SQS, Properties: {Queue: !GetAtt Work.Arn}}
Outputs:
  Source: {Value: !Ref Source}
  Work: {Value: !Ref Work}
  Results: {Value: !Ref Results}
"""
CDK = """
const cdk = require("aws-cdk-lib");
const { Stream } = require("aws-cdk-lib/aws-kinesis");
const { Queue } = require("aws-cdk-lib/aws-sqs");
const { Code, Function, Runtime, StartingPosition } = require("aws-cdk-lib/aws-lambda");
const { KinesisEventSource, SqsEventSource } = require("aws-cdk-lib/aws-lambda-event-sources");
const stack = new cdk.Stack(new cdk.App(), "deployed");
const source = new Stream(stack, "Source", { shardCount: 1, removalPolicy: cdk.RemovalPolicy.DESTROY });
const [work, results] = ["Work", "Results"].map((name) => new Queue(stack, name));
const handler = new Function(stack, "Handler", {
  runtime: Runtime.PYTHON_3_11, handler: "app.handler", code: Code.fromAsset("src"),
  timeout: cdk.Duration.seconds(10), environment: { RESULTS: results.queueUrl },
});
results.grantSendMessages(handler);
handler.addEventSource(new KinesisEventSource(source, { startingPosition: StartingPosition.TRIM_HORIZON }));
handler.addEventSource(new SqsEventSource(work));
new cdk.CfnOutput(stack, "SourceName", { key: "Source", value: source.streamName });
new cdk.CfnOutput(stack, "WorkUrl", { key: "Work", value: work.queueUrl });
new cdk.CfnOutput(stack, "ResultsUrl", { key: "Results", value: results.queueUrl });
"""


class Project:
    """A folder with the source of a function, and a tool that deploys it into a sandbox."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self._folder = folder
        self._sandbox = sandbox
        self.stacks = sandbox.client("cloudformation")
        (folder / "src").mkdir()
        self.write("hello")

    def write(self, greeting: str) -> None:
        (self._folder / "src" / "app.py").write_text(HANDLER.replace("GREETING", greeting))

    def run(self, *command: str | Path, **more: str) -> str:
        """What the tool printed. It fails where the tool does."""
        ran = subprocess.run(
            command,
            cwd=self._folder,
            env=self._sandbox.environment | {"CI": "1", "HOME": str(self._folder), **more},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    def invoke(self, text: str) -> set[str]:
        """What the function wrote of a record and of a message with this text."""
        (stack,) = self.stacks.describe_stacks(StackName="deployed")["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        sqs, found = self._sandbox.client("sqs"), set[str]()
        kinesis = self._sandbox.client("kinesis")
        kinesis.put_record(StreamName=outputs["Source"], PartitionKey="k", Data=text.encode())
        sqs.send_message(QueueUrl=outputs["Work"], MessageBody=text)

        def look() -> bool:
            answer = sqs.receive_message(QueueUrl=outputs["Results"], MaxNumberOfMessages=10)
            for each in answer.get("Messages", []):
                found.add(each["Body"])
                sqs.delete_message(QueueUrl=outputs["Results"], ReceiptHandle=each["ReceiptHandle"])
            return len(found) >= 2

        wait_until(look)
        return found

    def is_empty(self) -> bool:
        """Whether nothing of the function is left."""
        lambda_ = self._sandbox.client("lambda")
        mappings = lambda_.list_event_source_mappings()["EventSourceMappings"]
        return lambda_.list_functions()["Functions"] == mappings == []


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    sandbox = Sandbox(tmp_path)
    yield Project(tmp_path, sandbox)
    sandbox.close()


@pytest.mark.long
def test_what_sam_deploys_is_invoked(project: Project, tmp_path: Path) -> None:
    """`sam deploy` twice and `sam delete`, with the bucket that SAM makes for itself."""
    sam = installed("SAM", lambda: install.python_environment("sam", install.SAM)) / "sam"
    (tmp_path / "template.yaml").write_text(SAM)
    deploy = (sam, "deploy", "--stack-name", "deployed", "--resolve-s3", "--capabilities", "CAPABILITY_IAM")
    quiet = {"SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": "1"}
    assert "Successfully created/updated stack - deployed" in project.run(*deploy, **quiet)
    assert project.invoke("one") == {"aws:kinesis one hello", "aws:sqs one hello"}
    project.write("again")
    changed = project.run(*deploy, "--parameter-overrides", "Batch=5", **quiet)
    assert "UPDATE_COMPLETE" in changed
    assert project.invoke("two") == {"aws:kinesis two again", "aws:sqs two again"}
    project.run(sam, "delete", "--stack-name", "deployed", "--no-prompts", "--region", "us-east-1", **quiet)
    assert project.is_empty()


def test_what_the_cdk_deploys_is_invoked(project: Project, tmp_path: Path) -> None:
    """`cdk bootstrap`, `cdk deploy` twice and `cdk destroy`."""
    modules = installed("the CDK", lambda: install.node_packages("cdk", *install.CDK))
    (tmp_path / "app.cjs").write_text(CDK)
    (tmp_path / "cdk.json").write_text(json.dumps({"app": "node app.cjs"}))
    cdk = (modules / ".bin" / "cdk", "--no-notices", "--no-version-reporting")
    found = {"NODE_PATH": str(modules), "PATH": os.environ["PATH"]}
    project.run(*cdk, "bootstrap", "aws://000000000000/us-east-1", **found)
    project.run(*cdk, "deploy", "--require-approval", "never", **found)
    assert project.invoke("one") == {"aws:kinesis one hello", "aws:sqs one hello"}
    project.write("again")
    project.run(*cdk, "deploy", "--require-approval", "never", **found)
    assert project.invoke("two") == {"aws:kinesis two again", "aws:sqs two again"}
    project.run(*cdk, "destroy", "--force", **found)
    assert project.is_empty()

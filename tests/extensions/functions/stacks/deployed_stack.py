"""A stack of a sandbox, deployed by boto3, and the templates that tests deploy."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import ClientError

from tests.extensions.functions.conftest import Aws
from tests.waiting import wait_until

SOURCE = """
import base64, json, os, boto3
def handler(event, context):
    for record in event["Records"]:
        data = record.get("kinesis", {}).get("data")
        text = base64.b64decode(data).decode() if data else record["body"]
        body = json.dumps([record["eventSource"], text, os.environ["LEVEL"]])
        boto3.client("sqs").send_message(QueueUrl=os.environ["RESULTS"], MessageBody=body)
"""
TEMPLATE = f"""
Description: What comes on a stream and a queue.
Parameters:
  Level: {{Type: String, Default: "1", AllowedValues: ["1", "2"]}}
  Batch: {{Type: Number, Default: 10}}
Conditions:
  Never: !Equals [!Ref AWS::Region, nowhere]
Resources:
  Records:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !GetAtt Handler.Arn
      EventSourceArn: !GetAtt Source.Arn
      StartingPosition: TRIM_HORIZON
      BatchSize: !Ref Batch
      FilterCriteria: !If [Never, {{Filters: []}}, !Ref AWS::NoValue]
  Messages:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {{FunctionName: !Ref Handler, EventSourceArn: !GetAtt [Work, Arn]}}
  Handler:
    Type: AWS::Lambda::Function
    Properties:
      Handler: index.handler
      Runtime: python3.11
      Role: !GetAtt Role.Arn
      Timeout: "5"
      Environment: {{Variables: {{RESULTS: !Ref Results, LEVEL: !Ref Level}}}}
      Code: {{ZipFile: {json.dumps(SOURCE)}}}
  Role:
    Type: AWS::IAM::Role
    Properties: {{AssumeRolePolicyDocument: {{Version: 2012-10-17, Statement: []}}}}
  Source: {{Type: AWS::Kinesis::Stream, Properties: {{ShardCount: 1}}}}
  Work: {{Type: AWS::SQS::Queue, Properties: {{QueueName: !Sub "${{AWS::StackName}}-work"}}}}
  Results: {{Type: AWS::SQS::Queue}}
  Other: {{Type: AWS::SQS::Queue, Condition: Never}}
Outputs:
  Source: {{Value: !Ref Source}}
  Work: {{Value: !Ref Work}}
  Results: {{Value: !Ref Results}}
  Function: {{Value: !Ref Handler, Export: {{Name: !Sub "${{AWS::StackName}}-function"}}}}
"""
PERMITTED = {"Capabilities": ["CAPABILITY_IAM"]}


class DeployedStack:
    """The stack of a name, as its user sees it."""

    def __init__(self, aws: Aws, name: str) -> None:
        self.aws = aws
        self.name = name
        self.client = aws.client("cloudformation")

    def create(self, template: str, **given: Any) -> dict[str, Any]:
        """Create it; the stack as it is in the end."""
        self.client.create_stack(StackName=self.name, TemplateBody=template, **{**PERMITTED, **given})
        return self.settle()

    def update(self, template: str, **given: Any) -> dict[str, Any]:
        self.client.update_stack(StackName=self.name, TemplateBody=template, **{**PERMITTED, **given})
        return self.settle()

    def delete(self) -> dict[str, Any]:
        found = self.describe()
        self.client.delete_stack(StackName=self.name)
        return wait_until(lambda: self._settled(found["StackId"]))

    def describe(self, name: str = "") -> dict[str, Any]:
        (found,) = self.client.describe_stacks(StackName=name or self.name)["Stacks"]
        return dict(found)

    def settle(self) -> dict[str, Any]:
        """The stack, once it is in no transition."""
        return wait_until(lambda: self._settled(self.name))

    def outputs(self) -> dict[str, str]:
        return {each["OutputKey"]: each["OutputValue"] for each in self.describe()["Outputs"]}

    def resources(self) -> dict[str, str]:
        """The physical ids by the logical ones."""
        found = self.client.list_stack_resources(StackName=self.name)["StackResourceSummaries"]
        return {each["LogicalResourceId"]: each.get("PhysicalResourceId", "") for each in found}

    def events(self, name: str = "") -> list[tuple[str, str, str]]:
        """The logical id, status and reason of each event, the first ones first."""
        found = self.client.describe_stack_events(StackName=name or self.name)["StackEvents"]
        return [
            (each["LogicalResourceId"], each["ResourceStatus"], each.get("ResourceStatusReason", ""))
            for each in reversed(found)
        ]

    def refusal(self, operation: str, **given: Any) -> tuple[str, str]:
        """The code and message with which an operation is refused."""
        try:
            getattr(self.client, operation)(**given)
        except ClientError as error:
            return error.response["Error"]["Code"], error.response["Error"]["Message"]
        return "", "it was not refused"

    def _settled(self, name: str) -> dict[str, Any]:
        found = self.describe(name)
        return {} if found["StackStatus"].endswith("_IN_PROGRESS") else found


def receive(aws: Aws, queue: str, count: int) -> list[list[str]]:
    """So many messages of a queue, sorted."""
    sqs, found = aws.client("sqs"), []

    def look() -> bool:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        for each in answer.get("Messages", []):
            found.append(json.loads(each["Body"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=each["ReceiptHandle"])
        return len(found) >= count

    wait_until(look)
    return sorted(found)

"""Intrinsic functions, as the reference of CloudFormation's templates has them."""

from __future__ import annotations

from typing import Any

import pytest

from extensions.functions.stacks.intrinsic_functions import Resolver, sort_resources
from extensions.functions.stacks.stack import BadStackError, Draft, Stack, StackResource
from extensions.functions.stacks.stack_template import read_template

TEMPLATE = read_template(
    """
Mappings: {Sizes: {small: {Shards: 1}, large: {Shards: 8}}}
Conditions:
  Here: !Equals [!Ref AWS::Region, eu-west-2]
  Away: !Not [!Condition Here]
  Both: !And [!Condition Here, !Condition Away]
  Either: !Or [!Condition Here, !Condition Away]
Resources:
  Made: {Type: AWS::SQS::Queue}
  Later: {Type: AWS::SQS::Queue}
"""
)
STACK = Stack(
    id="arn:aws:cloudformation:eu-west-2:123456789012:stack/mine/1",
    name="mine",
    account="123456789012",
    region="eu-west-2",
    created=0.0,
    draft=Draft(),
    resources={"Made": StackResource("AWS::SQS::Queue", physical="url", attributes={"Arn": "arn"})},
)
VALUES = {
    "!Ref Size": "large",
    "!Ref Made": "url",
    "!Ref AWS::AccountId": "123456789012",
    "!GetAtt Made.Arn": "arn",
    "!GetAtt [Made, Arn]": "arn",
    '!Sub "${AWS::StackName}-${Size}-${Made.Arn}-${!Size}"': "mine-large-arn-${Size}",
    '!Sub ["${Size}-${Other}", {Other: !Ref Made}]': "large-url",
    "!Join ['-', [a, !Ref Size]]": "a-large",
    "!Select [1, !Split [',', 'a,b,c']]": "b",
    "!Select ['0', !Ref Names]": "x",
    "!FindInMap [Sizes, !Ref Size, Shards]": 8,
    "!FindInMap [Sizes, none, Shards, {DefaultValue: 3}]": 3,
    "!If [Here, a, b]": "a",
    "!If [Away, a, b]": "b",
    "!If [Both, a, b]": "b",
    "!If [Either, a, b]": "a",
    "[1, !If [Away, 2, !Ref AWS::NoValue]]": [1],
    "{A: 1, B: !Ref AWS::NoValue}": {"A": 1},
    "!Base64 text": "dGV4dA==",
    "!ImportValue theirs": "from theirs",
    "{Version: 2012-10-17}": {"Version": "2012-10-17"},
    "{'Fn::Join': ['', [!Ref Size, true]]}": "largetrue",
}
REFUSED = {
    "!GetAtt Made.Nothing": "resource Made does not support attribute type Nothing in Fn::GetAtt",
    "!GetAtt Nobody.Arn": "instance of Fn::GetAtt references undefined resource Nobody",
    "!Ref Later": "instance of Ref references undefined resource Later",
    "!Select [9, [a]]": "Fn::Select cannot be resolved",
    "!Join a": "Fn::Join cannot be resolved",
    "!Length [a]": "Fn::Length is not in this sandbox",
    "!If [Nothing, a, b]": "Unresolved condition dependency Nothing",
    "!ImportValue nobodys": "No export named nobodys found.",
    "{'Fn::Sub': 7}": "Fn::Sub cannot be resolved: 7",
}


def resolver(**more: Any) -> Resolver:
    parameters = {"Size": "large", "Names": ["x", "y"]}
    return Resolver(TEMPLATE, STACK, parameters, {"theirs": "from theirs"}.get, **more)


def read(text: str) -> Any:
    return read_template(f"{{Resources: {{A: {{Type: T}}}}, Metadata: {{value: {text}}}}}")["Metadata"][
        "value"
    ]


@pytest.mark.parametrize("text", VALUES)
def test_a_function_has_its_value(text: str) -> None:
    """In the short form and in the long one."""
    assert resolver().resolve(read(text)) == VALUES[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_resolved_is_refused(text: str) -> None:
    """With the name of the function, and what it was given."""
    with pytest.raises(BadStackError) as refused:
        resolver().resolve(read(text))
    assert REFUSED[text] in refused.value.message


def test_what_is_not_made_yet_is_unknown_where_it_may_be() -> None:
    """As in a change set, which is read before anything is made."""
    assert resolver(unknown="?").resolve(read("[!Ref Later, !GetAtt Later.Arn]")) == ["?", "?"]


def test_resources_come_behind_what_they_need() -> None:
    """By references of every form, and by DependsOn."""
    resources = {
        "A": {"Type": "T", "Properties": {"a": {"Fn::Sub": "${B.Arn}"}}},
        "B": {"Type": "T", "Properties": {"b": [{"Ref": "C"}]}},
        "C": {"Type": "T", "DependsOn": ["D"]},
        "D": {"Type": "T", "Properties": {"d": {"Fn::Sub": ["${X}", {"X": {"Fn::GetAtt": "E.Arn"}}]}}},
        "E": {"Type": "T"},
    }
    assert sort_resources({"Resources": resources}) == ["E", "D", "C", "B", "A"]

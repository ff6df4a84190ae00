"""Stacks, change sets and templates as CloudFormation describes them.

What an operation does not show is left out where the answer is written.
"""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from extensions.functions.stacks.stack import ChangeSet, Draft, Stack
from extensions.functions.stacks.stack_template import Template, list_transforms


def describe_stack(stack: Stack) -> dict[str, Any]:
    described = {**to_builtins(stack), **_describe_draft(stack.draft)}
    return {
        **described,
        "TemplateDescription": described.get("Description"),
        "EnableTerminationProtection": stack.protected,
        "DisableRollback": stack.draft.on_failure == "DO_NOTHING",
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }


def list_resources(stack: Stack) -> list[dict[str, Any]]:
    return [
        {
            **to_builtins(each),
            **_name_stack(stack),
            "LogicalResourceId": logical,
            "LastUpdatedTimestamp": each.changed,
            "DriftInformation": {"StackResourceDriftStatus": "NOT_CHECKED"},
        }
        for logical, each in stack.resources.items()
    ]


def list_events(stack: Stack) -> list[dict[str, Any]]:
    """The latest first."""
    return [{**to_builtins(each), **_name_stack(stack)} for each in reversed(stack.events)]


def describe_change_set(stack: Stack, found: ChangeSet) -> dict[str, Any]:
    execution = "AVAILABLE" if found.status == "CREATE_COMPLETE" else "UNAVAILABLE"
    described = {**to_builtins(found), **_describe_draft(found.draft), **_name_stack(stack)}
    return {**described, "ExecutionStatus": execution, "IncludeNestedStacks": False}


def summarize_template(template: Template) -> dict[str, Any]:
    """What GetTemplateSummary and ValidateTemplate say of one. Raises BadStackError."""
    types = sorted({each["Type"] for each in template["Resources"].values()})
    made = [each for each in types if each.startswith("AWS::IAM::")]
    why = f"The following resource(s) require capabilities: [{', '.join(made)}]" if made else None
    return {
        "Description": template.get("Description"),
        "Version": template.get("AWSTemplateFormatVersion"),
        "Capabilities": ["CAPABILITY_NAMED_IAM"] if made else [],
        "CapabilitiesReason": why,
        "DeclaredTransforms": list_transforms(template),
        "ResourceTypes": types,
        "Parameters": [
            {
                "ParameterKey": name,
                "ParameterType": declared.get("Type", "String"),
                "DefaultValue": declared.get("Default"),
                "Description": declared.get("Description"),
                "NoEcho": bool(declared.get("NoEcho")),
                "ParameterConstraints": {"AllowedValues": declared.get("AllowedValues", [])},
            }
            for name, declared in template.get("Parameters", {}).items()
        ],
    }


def _name_stack(stack: Stack) -> dict[str, str]:
    return {"StackId": stack.id, "StackName": stack.name}


def _describe_draft(draft: Draft) -> dict[str, Any]:
    shown = {**draft.parameters, **dict.fromkeys(draft.hidden, "****")}
    parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in shown.items()]
    return {**to_builtins(draft), "Parameters": parameters}

"""The operations of CloudFormation on stacks, change sets and templates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from emulator.clock import Clock
from emulator.kinesis import Scope
from emulator.listeners.aws.moto_services import bucket_in_host
from emulator.rng import new_uuid
from extensions.functions.stacks.intrinsic_functions import sort_resources
from extensions.functions.stacks.resource_maker import ResourceFailedError
from extensions.functions.stacks.stack import BadStackError, ChangeSet, Draft, Stack, TransformFailedError
from extensions.functions.stacks.stack_deployment import StackDeployment, undoing
from extensions.functions.stacks.stack_documents import (
    describe_change_set,
    describe_stack,
    list_events,
    list_resources,
    summarize_template,
)
from extensions.functions.stacks.stack_store import StackStore
from extensions.functions.stacks.stack_template import (
    check_capabilities,
    check_types,
    choose_parameters,
    list_transforms,
    read_parameters,
    read_template,
    transform,
)

_NAME: Final = "[a-zA-Z][-a-zA-Z0-9]*"
_LONGEST_BODY: Final = 51_200
_LONGEST_NAME: Final = 128
_NO_CHANGES: Final = (
    "The submitted information didn't contain changes. Submit different information to create a change set."
)
_UPDATABLE: Final = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
_LEFT: Final = ("CREATE_FAILED", "UPDATE_FAILED")
_REVIEWED: Final = "REVIEW_IN_PROGRESS"


class StackOperations:
    """What the API does. ``client`` makes clients of boto3, ``session`` a session of it for a region."""

    def __init__(
        self,
        store: StackStore,
        deployment: StackDeployment,
        clock: Clock,
        client: Callable[[str, Scope], Any],
        session: Callable[[str], Any],
    ) -> None:
        self._store = store
        self._deployment = deployment
        self._clock = clock
        self._client = client
        self._session = session

    def create_stack(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        name = request["StackName"]
        self._check_free(scope, name)
        stack = self._new_stack(scope, name)
        draft = self._draft(scope, request, stack)
        stack.protected = request.get("EnableTerminationProtection", False)
        with self._store.lock:
            self._check_free(scope, name)
            self._deployment.deploy(stack, draft)
        return {"StackId": stack.id}

    def update_stack(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        stack = self._updatable(scope, request["StackName"])
        draft = self._draft(scope, request, stack)
        if not self._deployment.preview(stack, draft) and not _differs(stack.draft, draft):
            raise BadStackError("No updates are to be performed.")
        with self._store.lock:
            self._updatable(scope, stack.id)
            self._deployment.deploy(stack, draft)
        return {"StackId": stack.id}

    def delete_stack(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack = self._store.find(scope, request["StackName"])
            if stack is None or stack.status in {"DELETE_COMPLETE", "DELETE_IN_PROGRESS"}:
                return {}
            if stack.protected:
                text = "cannot be deleted while TerminationProtection is enabled"
                raise BadStackError(f"Stack [{stack.name}] {text}")
            if stack.status.endswith("_IN_PROGRESS") and stack.status != _REVIEWED:
                raise BadStackError(f"Stack [{stack.name}] cannot be deleted while in status {stack.status}")
            for logical in request.get("RetainResources", ()):
                if logical in stack.resources:
                    stack.resources[logical].deletion_policy = "Retain"
            self._deployment.begin(stack, "DELETE_IN_PROGRESS")
        return {}

    def rollback_stack(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack = self._find(scope, request["StackName"])
            if stack.status not in _LEFT:
                raise BadStackError(
                    f"Stack:{stack.id} is in {stack.status} state and can not be rolled back."
                )
            self._deployment.begin(stack, undoing(stack))
        return {"StackId": stack.id}

    def protect_stack(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack = self._find(scope, request["StackName"])
            stack.protected = request["EnableTerminationProtection"]
            self._store.put(stack, self._clock.time())
        return {"StackId": stack.id}

    def describe_stacks(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            if name := request.get("StackName"):
                return {
                    "Stacks": [describe_stack(self._find(scope, name, "Stack with id {} does not exist"))]
                }
            living = (each for each in self._store.list_in(scope) if each.status != "DELETE_COMPLETE")
            return {"Stacks": list(map(describe_stack, living))}

    def list_stacks(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        wanted = request.get("StackStatusFilter")
        with self._store.lock:
            found = [each for each in self._store.list_in(scope) if not wanted or each.status in wanted]
            return {"StackSummaries": list(map(describe_stack, found))}

    def describe_events(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack = self._find(scope, request.get("StackName", ""))
            return {"StackEvents": list_events(stack)}

    def list_resources(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        """What ListStackResources and DescribeStackResources answer."""
        with self._store.lock:
            stack = self._find(scope, request.get("StackName", ""), "Stack with id {} does not exist")
            asked = request.get("LogicalResourceId")
            found = [each for each in list_resources(stack) if asked in {None, each["LogicalResourceId"]}]
        return {"StackResourceSummaries": found, "StackResources": found}

    def describe_resource(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        logical = request["LogicalResourceId"]
        found = self.list_resources(scope, request)["StackResources"]
        if not found:
            raise BadStackError(f"Resource {logical} does not exist for stack {request['StackName']}")
        return {"StackResourceDetail": found[0]}

    def list_exports(self, scope: Scope, _request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            return {
                "Exports": [
                    {"ExportingStackId": stack.id, "Name": each["ExportName"], "Value": each["OutputValue"]}
                    for stack in self._store.list_in(scope)
                    for each in stack.outputs
                    if "ExportName" in each and stack.status != "DELETE_COMPLETE"
                ]
            }

    def get_template(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack = self._find(scope, request.get("StackName", ""), "Stack with id {} does not exist")
            draft = (
                self._find_change_set(scope, request)[1].draft if "ChangeSetName" in request else stack.draft
            )
        is_processed = request.get("TemplateStage") == "Processed"
        body = draft.processed if is_processed else draft.template
        return {"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]}

    def summarize(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        """What GetTemplateSummary and ValidateTemplate answer."""
        stack = self._find(scope, request["StackName"]) if "StackName" in request else None
        text = stack.draft.template if stack else self._read_body(scope, request, None)
        with _reading():
            return summarize_template(read_template(text))

    def create_change_set(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        name, kind = request["StackName"], request.get("ChangeSetType", "UPDATE")
        stack = self._store.find(scope, name)
        if kind == "CREATE":
            if stack is not None and stack.status != _REVIEWED:
                again = f"again with the changeSet [{request['ChangeSetName']}]"
                raise BadStackError(f"Stack [{name}] already exists and cannot be created {again}.")
            stack = stack or self._new_stack(scope, name)
        elif kind == "UPDATE":
            stack = self._updatable(scope, name)
        else:
            raise BadStackError(f"Change sets of the type {kind} are not in this sandbox")
        if request["ChangeSetName"] in stack.change_sets:
            text = f"ChangeSet {request['ChangeSetName']} already exists"
            raise BadStackError(text, "AlreadyExistsException")
        number = f"{request['ChangeSetName']}/{new_uuid()}"
        made = ChangeSet(
            id=f"arn:aws:cloudformation:{scope.region}:{scope.account}:changeSet/{number}",
            name=request["ChangeSetName"],
            created=self._clock.time(),
            description=request.get("Description", ""),
            draft=stack.draft,
        )
        try:
            made.draft = self._draft(scope, request, stack)
            made.changes = self._deployment.preview(stack, made.draft)
            if not made.changes and kind == "UPDATE" and not _differs(stack.draft, made.draft):
                made.status, made.reason = "FAILED", _NO_CHANGES
        except (TransformFailedError, ResourceFailedError) as error:
            made.status, made.reason = "FAILED", str(error)
        with self._store.lock:
            if not stack.status:
                self._check_free(scope, name)
                self._deployment.mark(stack, _REVIEWED, "User Initiated")
            stack.change_sets = {**stack.change_sets, made.name: made}
            self._store.put(stack, self._clock.time())
        return {"Id": made.id, "StackId": stack.id}

    def describe_change_set(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            return describe_change_set(*self._find_change_set(scope, request))

    def list_change_sets(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack = self._find(scope, request["StackName"])
            return {"Summaries": [describe_change_set(stack, each) for each in stack.change_sets.values()]}

    def execute_change_set(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            stack, found = self._find_change_set(scope, request)
            if found.status == "FAILED":
                text = f"ChangeSet [{found.id}] cannot be executed in its current status of [{found.status}]"
                raise BadStackError(text, "InvalidChangeSetStatus")
            if request.get("DisableRollback"):
                found.draft.on_failure = "DO_NOTHING"
            self._deployment.deploy(stack, found.draft)
        return {}

    def delete_change_set(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        with self._store.lock:
            try:
                stack, found = self._find_change_set(scope, request)
            except BadStackError:
                return {}
            stack.change_sets = {each: kept for each, kept in stack.change_sets.items() if kept is not found}
            self._store.put(stack, self._clock.time())
        return {}

    def _find(self, scope: Scope, name: str, missing: str = "Stack [{}] does not exist") -> Stack:
        """Raises BadStackError with the text for a name that is ``missing``."""
        found = self._store.find(scope, name)
        if found is None:
            raise BadStackError(missing.format(name))
        return found

    def _find_change_set(self, scope: Scope, request: dict[str, Any]) -> tuple[Stack, ChangeSet]:
        """The change set of a name or an ARN, and its stack. Raises BadStackError."""
        asked = request["ChangeSetName"]
        stacks = self._store.list_in(scope)
        if name := request.get("StackName"):
            stacks = [self._find(scope, name)]
        for stack in stacks:
            for each in stack.change_sets.values():
                if asked in {each.name, each.id}:
                    return stack, each
        raise BadStackError(f"ChangeSet [{asked}] does not exist", "ChangeSetNotFound")

    def _check_free(self, scope: Scope, name: str) -> None:
        if self._store.find(scope, name) is not None:
            raise BadStackError(f"Stack [{name}] already exists", "AlreadyExistsException")

    def _updatable(self, scope: Scope, name: str) -> Stack:
        """The stack, which is in a state in which it can be updated. Raises BadStackError."""
        stack = self._find(scope, name)
        if stack.status not in _UPDATABLE + _LEFT:
            raise BadStackError(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")
        return stack

    def _new_stack(self, scope: Scope, name: str) -> Stack:
        """A stack that nobody knows yet. Raises BadStackError for a name that cannot be."""
        if not re.fullmatch(_NAME, name) or len(name) > _LONGEST_NAME:
            why = f"Member must satisfy regular expression pattern: {_NAME}"
            if len(name) > _LONGEST_NAME:
                why = f"Member must have length less than or equal to {_LONGEST_NAME}"
            raise _broken("stackName", why)
        return Stack(
            id=f"arn:aws:cloudformation:{scope.region}:{scope.account}:stack/{name}/{new_uuid()}",
            name=name,
            account=scope.account,
            region=scope.region,
            created=self._clock.time(),
            draft=Draft(),
        )

    def _draft(self, scope: Scope, request: dict[str, Any], stack: Stack) -> Draft:
        """What a request wants a stack to be. Raises BadStackError and TransformFailedError."""
        text = self._read_body(scope, request, stack)
        with _reading():
            return self._read_draft(scope, request, stack, text)

    def _read_draft(self, scope: Scope, request: dict[str, Any], stack: Stack, text: str) -> Draft:
        template = read_template(text)
        chosen = choose_parameters(template, request.get("Parameters", ()), stack.draft.parameters)
        capabilities = request.get("Capabilities", [])
        processed = text
        if list_transforms(template):
            values = read_parameters(
                template, chosen, lambda name: self._deployment.fetch_parameter(scope, name)
            )
            template = transform(template, values, self._session(scope.region))
            processed = json.dumps(template)
        check_types(template)
        sort_resources(template)
        check_capabilities(template, capabilities)
        wanted = request.get("OnFailure") or request.get("OnStackFailure", "ROLLBACK")
        if request.get("DisableRollback"):
            wanted = "DO_NOTHING"
        return Draft(
            template=text,
            processed=processed,
            parameters=chosen,
            hidden=[name for name in chosen if template["Parameters"][name].get("NoEcho")],
            tags=request.get("Tags", stack.draft.tags),
            capabilities=capabilities,
            on_failure=wanted,
        )

    def _read_body(self, scope: Scope, request: dict[str, Any], stack: Stack | None) -> str:
        """The text of the template that a request gives, or points to. Raises BadStackError."""
        if request.get("UsePreviousTemplate") and stack is not None:
            return stack.draft.template
        if body := request.get("TemplateBody", ""):
            if len(body.encode()) > _LONGEST_BODY:
                raise _broken(
                    "templateBody", f"Member must have length less than or equal to {_LONGEST_BODY}"
                )
            return str(body)
        if "TemplateURL" not in request:
            raise BadStackError("Either Template URL or Template Body must be specified.")
        return self._fetch(scope, request["TemplateURL"])

    def _fetch(self, scope: Scope, url: str) -> str:
        """The object of a URL, wherever its host is: there are no other buckets. Raises BadStackError."""
        from botocore.exceptions import BotoCoreError, ClientError

        place = urlsplit(url)
        path = unquote(place.path).lstrip("/")
        bucket = bucket_in_host(place.netloc, None)
        bucket, key = (bucket, path) if bucket else path.partition("/")[::2]
        try:
            found: bytes = self._client("s3", scope).get_object(Bucket=bucket, Key=key)["Body"].read()
        except (BotoCoreError, ClientError, ValueError) as error:
            raise BadStackError(f"S3 error: {error}") from error
        return found.decode("utf-8", "replace")


@contextmanager
def _reading() -> Iterator[None]:
    """Raise BadStackError where a template has something else than what belongs there."""
    try:
        yield
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise BadStackError(f"Template format error: {error}") from error


def _broken(member: str, why: str) -> BadStackError:
    return BadStackError(
        f"1 validation error detected: Value at '{member}' failed to satisfy constraint: {why}"
    )


def _differs(before: Draft, now: Draft) -> bool:
    """Whether drafts whose resources are the same differ in anything else that is a stack's."""
    if before.tags != now.tags:
        return True
    outputs = (read_template(each.processed).get("Outputs") for each in (before, now))
    return next(outputs) != next(outputs)


def list_operations(operations: StackOperations) -> dict[str, Any]:
    """The methods by the names of AWS's operations."""
    return {
        "CreateChangeSet": operations.create_change_set,
        "CreateStack": operations.create_stack,
        "DeleteChangeSet": operations.delete_change_set,
        "DeleteStack": operations.delete_stack,
        "DescribeChangeSet": operations.describe_change_set,
        "DescribeStackEvents": operations.describe_events,
        "DescribeStackResource": operations.describe_resource,
        "DescribeStackResources": operations.list_resources,
        "DescribeStacks": operations.describe_stacks,
        "ExecuteChangeSet": operations.execute_change_set,
        "GetTemplate": operations.get_template,
        "GetTemplateSummary": operations.summarize,
        "ListChangeSets": operations.list_change_sets,
        "ListExports": operations.list_exports,
        "ListStackResources": operations.list_resources,
        "ListStacks": operations.list_stacks,
        "RollbackStack": operations.rollback_stack,
        "UpdateStack": operations.update_stack,
        "UpdateTerminationProtection": operations.protect_stack,
        "ValidateTemplate": operations.summarize,
    }

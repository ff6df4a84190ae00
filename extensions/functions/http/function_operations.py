"""The operations of Lambda on functions, versions, aliases, tags and permissions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from emulator.clock import Clock
from emulator.kinesis import Scope
from emulator.rng import new_uuid
from extensions.functions.engine.errors import BadValueError, ConflictError, LambdaError, NotFoundError
from extensions.functions.engine.function import LATEST, Alias, AsyncSettings, Code, Function, Place, Version
from extensions.functions.engine.functions import Functions
from extensions.functions.http.function_documents import (
    describe_alias,
    describe_asynchronous,
    describe_version,
)
from extensions.functions.runtime.programs import check_runtime

WATCHED: Final = "hot-reload"
"""The bucket whose keys are folders of this machine, as in LocalStack."""
_NAME: Final = re.compile(
    r"(?:arn:aws:lambda:(?P<region>[^:]+):(?P<account>\d{12}):function:|(?P<partial>\d{12}):function:)?"
    r"(?P<name>[\w-]{1,64})(?::(?P<qualifier>\$LATEST|[\w-]+))?"
)
_BEING_CREATED: Final = "The function is being created."
_LONGEST_SECONDS: Final = 900
_PAGE: Final = 50
_T = TypeVar("_T")
Fetch = Callable[[Scope, str, str], bytes]
"""Gets an object by its bucket and key. Raises LambdaError."""


class FunctionOperations:
    """What the API does with functions. ``fetch`` gets archives out of buckets."""

    def __init__(self, functions: Functions, clock: Clock, fetch: Fetch) -> None:
        self._functions = functions
        self._clock = clock
        self._fetch = fetch

    async def create_function(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        place, _ = find_place(scope, request)
        if request.get("PackageType", "Zip") != "Zip":
            raise BadValueError("Functions of container images are not in this sandbox: give an archive")
        if self._functions.find(place):
            raise ConflictError(f"Function already exist: {place.name}")
        missing = next((each for each in ("Runtime", "Handler") if each not in request), None)
        if missing:
            raise BadValueError(f"{missing} is mandatory for functions created with deployment packages.")
        code = self._read_code(scope, request["Code"])
        version = self._configure(
            Version(
                runtime=request["Runtime"],
                handler=request["Handler"],
                role=request["Role"],
                architectures=tuple(request.get("Architectures", ("x86_64",))),
                code=code,
                modified=0.0,
                revision="",
            ),
            request,
        )
        function = Function(
            account=place.account,
            region=place.region,
            name=place.name,
            latest=version,
            tags=dict(request.get("Tags", {})),
        )
        if request.get("Publish"):
            version = _publish(function, "")
        self._functions.add(function)
        shown = describe_version(function, version)
        # As AWS says it: a function is there at once, and usable a moment later.
        del shown["LastUpdateStatus"]
        return {**shown, "State": "Pending", "StateReasonCode": "Creating", "StateReason": _BEING_CREATED}

    async def get_function(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function, version = self._resolve(scope, request)
        shown: dict[str, Any] = {
            "Configuration": describe_version(function, version, qualified="Qualifier" in request),
            "Code": {"RepositoryType": "S3", "Location": ""},
        }
        if function.tags:
            shown["Tags"] = function.tags
        if function.concurrency is not None:
            shown["Concurrency"] = {"ReservedConcurrentExecutions": function.concurrency}
        return shown

    async def get_function_configuration(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function, version = self._resolve(scope, request)
        return describe_version(function, version, qualified="Qualifier" in request)

    async def list_functions(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        found = self._functions.list_in(*scope)
        if request.get("FunctionVersion") == "ALL":
            every = [(each, version) for each in found for version in (each.latest, *each.versions)]
        else:
            every = [(each, each.latest) for each in found]
        return cut_page("Functions", [describe_version(*each) for each in every], request)

    async def delete_function(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any] | None:
        place, qualifier = find_place(scope, request)
        function = self._functions.get(place)
        if not qualifier:
            self._functions.remove(place)
            return None
        if qualifier == LATEST:
            raise BadValueError("$LATEST version cannot be deleted without deleting the function.")
        if any(alias.version == qualifier for alias in function.aliases.values()):
            raise ConflictError(f"Version {qualifier} is used by an alias")
        self._store(function, versions=[each for each in function.versions if each.number != qualifier])
        return None

    async def update_function_code(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        _check_revision(function.latest.revision, request)
        code = self._read_code(scope, request)
        if request.get("DryRun"):
            return describe_version(function, msgspec.structs.replace(function.latest, code=code))
        function = self._store(
            function, latest=self._touch(msgspec.structs.replace(function.latest, code=code))
        )
        if request.get("Publish"):
            version = _publish(function, "")
            function = self._store(function)
            return _describe_update(function, version)
        return _describe_update(function, function.latest)

    async def update_function_configuration(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        _check_revision(function.latest.revision, request)
        function = self._store(function, latest=self._configure(function.latest, request))
        return _describe_update(function, function.latest)

    async def publish_version(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        _check_revision(function.latest.revision, request)
        if (code_sha256 := request.get("CodeSha256")) and code_sha256 != function.latest.code.sha256:
            raise BadValueError("CodeSHA256 does not match the code of $LATEST.")
        function = msgspec.structs.replace(function, versions=list(function.versions))
        version = _publish(function, request.get("Description", ""))
        self._functions.store(function)
        return describe_version(function, version)

    async def list_versions(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        every = (function.latest, *function.versions)
        return cut_page(
            "Versions", [describe_version(function, each, qualified=True) for each in every], request
        )

    async def create_alias(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        if request["Name"] in function.aliases:
            raise ConflictError(f"Alias already exists: {function.place.arn}:{request['Name']}")
        return self._put_alias(function, Alias(request["Name"], "", "", ""), request)

    async def update_alias(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function, alias = self._find_alias(scope, request)
        _check_revision(alias.revision, request)
        return self._put_alias(function, alias, request)

    async def get_alias(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        return describe_alias(*self._find_alias(scope, request))

    async def list_aliases(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        version = request.get("FunctionVersion")
        found = [each for each in function.aliases.values() if version in {None, each.version}]
        return cut_page("Aliases", [describe_alias(function, each) for each in found], request)

    async def delete_alias(self, scope: Scope, request: dict[str, Any]) -> None:
        function = self._functions.get(find_place(scope, request)[0])
        left = {name: each for name, each in function.aliases.items() if name != request["Name"]}
        self._store(function, aliases=left)

    async def put_concurrency(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        number = request["ReservedConcurrentExecutions"]
        self._store(function, concurrency=number)
        return {"ReservedConcurrentExecutions": number}

    async def get_concurrency(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        found = self._functions.get(find_place(scope, request)[0]).concurrency
        return {} if found is None else {"ReservedConcurrentExecutions": found}

    async def delete_concurrency(self, scope: Scope, request: dict[str, Any]) -> None:
        self._store(self._functions.get(find_place(scope, request)[0]), concurrency=None)

    async def put_asynchronous(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        return self._set_asynchronous(scope, request, AsyncSettings())

    async def update_asynchronous(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        return self._set_asynchronous(scope, request, function.asynchronous or AsyncSettings())

    async def get_asynchronous(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        if function.asynchronous is None:
            raise NotFoundError(
                f"The function {function.place.arn}:{LATEST} doesn't have an EventInvokeConfig"
            )
        return describe_asynchronous(function, function.asynchronous)

    async def delete_asynchronous(self, scope: Scope, request: dict[str, Any]) -> None:
        self._store(self._functions.get(find_place(scope, request)[0]), asynchronous=None)

    async def list_tags(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        return {"Tags": self._find_tagged(scope, request).tags}

    async def tag(self, scope: Scope, request: dict[str, Any]) -> None:
        function = self._find_tagged(scope, request)
        self._store(function, tags=function.tags | request["Tags"])

    async def untag(self, scope: Scope, request: dict[str, Any]) -> None:
        function = self._find_tagged(scope, request)
        gone = request["TagKeys"]
        self._store(function, tags={key: each for key, each in function.tags.items() if key not in gone})

    async def add_permission(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        name = request["StatementId"]
        if name in function.policy:
            raise ConflictError(
                f"The statement id ({name}) provided already exists. Please provide a new statement id, or "
                "remove the existing statement."
            )
        principal = request["Principal"]
        statement = {
            "Sid": name,
            "Effect": "Allow",
            "Principal": {"Service": principal} if "." in principal else {"AWS": principal},
            "Action": request["Action"],
            "Resource": function.place.arn,
        }
        if source := request.get("SourceArn"):
            statement["Condition"] = {"ArnLike": {"AWS:SourceArn": source}}
        self._store(function, policy={**function.policy, name: statement})
        return {"Statement": json.dumps(statement)}

    async def get_policy(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        if not function.policy:
            raise NotFoundError("The resource you requested does not exist.")
        policy = {"Version": "2012-10-17", "Id": "default", "Statement": list(function.policy.values())}
        return {"Policy": json.dumps(policy), "RevisionId": function.latest.revision}

    async def remove_permission(self, scope: Scope, request: dict[str, Any]) -> None:
        function = self._functions.get(find_place(scope, request)[0])
        name = request["StatementId"]
        if name not in function.policy:
            raise NotFoundError(f"Statement {name} is not found in resource policy.")
        self._store(function, policy={key: each for key, each in function.policy.items() if key != name})

    async def get_account_settings(self, scope: Scope, _request: dict[str, Any]) -> dict[str, Any]:
        found = self._functions.list_in(*scope)
        size = sum(version.code.size for each in found for version in (each.latest, *each.versions))
        limits = {
            "TotalCodeSize": 80_530_636_800,
            "CodeSizeUnzipped": 262_144_000,
            "CodeSizeZipped": 52_428_800,
        }
        concurrent = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
        return {
            "AccountLimit": {**limits, **concurrent},
            "AccountUsage": {"TotalCodeSize": size, "FunctionCount": len(found)},
        }

    async def get_code_signing(self, scope: Scope, request: dict[str, Any]) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        return {"FunctionName": function.name, "CodeSigningConfigArn": ""}

    def _resolve(self, scope: Scope, request: dict[str, Any]) -> tuple[Function, Version]:
        place, qualifier = find_place(scope, request)
        return self._functions.resolve(place, qualifier)

    def _read_code(self, scope: Scope, given: dict[str, Any]) -> Code:
        if "ZipFile" in given:
            return self._functions.code.add(given["ZipFile"])
        if "S3Bucket" not in given or "S3Key" not in given:
            raise BadValueError("Please provide a source for function code.")
        if given["S3Bucket"] == WATCHED:
            return self._functions.code.watch(given["S3Key"])
        return self._functions.code.add(self._fetch(scope, given["S3Bucket"], given["S3Key"]))

    def _configure(self, version: Version, request: dict[str, Any]) -> Version:
        """The version with what the request asks for. Raises BadValueError for a runtime that is not here."""
        check_runtime(request.get("Runtime", version.runtime))
        if (seconds := request.get("Timeout", 0)) > _LONGEST_SECONDS:
            # The model has no upper bound.
            text = f"Member must have value less than or equal to {_LONGEST_SECONDS}"
            where = f"Value '{seconds}' at 'timeout' failed to satisfy constraint: {text}"
            raise LambdaError("ValidationException", f"1 validation error detected: {where}")
        asked = {
            "runtime": request.get("Runtime"),
            "handler": request.get("Handler"),
            "role": request.get("Role"),
            "description": request.get("Description"),
            "timeout": request.get("Timeout"),
            "memory": request.get("MemorySize"),
            "environment": request.get("Environment", {}).get("Variables"),
            "storage": request.get("EphemeralStorage", {}).get("Size"),
            "dead_letters": request.get("DeadLetterConfig", {}).get("TargetArn"),
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return self._touch(msgspec.structs.replace(version, **given))

    def _touch(self, version: Version) -> Version:
        return msgspec.structs.replace(version, modified=self._clock.time(), revision=new_uuid())

    def _store(self, function: Function, **changed: Any) -> Function:
        function = msgspec.structs.replace(function, **changed)
        self._functions.store(function)
        return function

    def _find_alias(self, scope: Scope, request: dict[str, Any]) -> tuple[Function, Alias]:
        function = self._functions.get(find_place(scope, request)[0])
        alias = function.aliases.get(request["Name"])
        if alias is None:
            raise NotFoundError(f"Cannot find alias arn: {function.place.arn}:{request['Name']}")
        return function, alias

    def _put_alias(self, function: Function, alias: Alias, request: dict[str, Any]) -> dict[str, Any]:
        version = request.get("FunctionVersion", alias.version)
        if function.find_version(version) is None:
            raise NotFoundError(f"Function not found: {function.place.arn}:{version}")
        routing = request.get("RoutingConfig")
        weights = alias.weights if routing is None else routing.get("AdditionalVersionWeights", {})
        made = Alias(alias.name, version, request.get("Description", alias.description), new_uuid(), weights)
        function = self._store(function, aliases={**function.aliases, alias.name: made})
        return describe_alias(function, made)

    def _set_asynchronous(
        self, scope: Scope, request: dict[str, Any], before: AsyncSettings
    ) -> dict[str, Any]:
        function = self._functions.get(find_place(scope, request)[0])
        destinations = request.get("DestinationConfig", {})
        found = AsyncSettings(
            retries=request.get("MaximumRetryAttempts", before.retries),
            age=request.get("MaximumEventAgeInSeconds", before.age),
            on_success=destinations.get("OnSuccess", {}).get("Destination", before.on_success),
            on_failure=destinations.get("OnFailure", {}).get("Destination", before.on_failure),
            modified=self._clock.time(),
        )
        return describe_asynchronous(self._store(function, asynchronous=found), found)

    def _find_tagged(self, scope: Scope, request: dict[str, Any]) -> Function:
        return self._functions.get(find_place(scope, {"FunctionName": request["Resource"]})[0])


def find_place(scope: Scope, request: dict[str, Any]) -> tuple[Place, str]:
    """The place of the function that a request names in any of Lambda's ways, and its qualifier.

    Raises BadValueError for a name that is none, or for two qualifiers.
    """
    spelled = request["FunctionName"]
    found = _NAME.fullmatch(spelled)
    if found is None:
        raise BadValueError(f"{spelled} is not a valid function name or ARN")
    asked = request.get("Qualifier", "")
    if asked and found["qualifier"] and asked != found["qualifier"]:
        raise BadValueError(
            "The derived qualifier from the function name does not match the specified qualifier."
        )
    account = found["account"] or found["partial"] or scope.account
    return Place(account, found["region"] or scope.region, found["name"]), asked or found["qualifier"] or ""


def _describe_update(function: Function, version: Version) -> dict[str, Any]:
    """A version as the answer to its update shows it: AWS says that the update goes on."""
    status = {"LastUpdateStatus": "InProgress", "LastUpdateStatusReasonCode": "Creating"}
    return {**describe_version(function, version), **status, "LastUpdateStatusReason": _BEING_CREATED}


def _publish(function: Function, description: str) -> Version:
    """Add a version that is as ``$LATEST`` is; the one that is there where nothing has changed since."""
    latest = function.latest
    last = function.versions[-1] if function.versions else None
    if last and (last.code, last.modified) == (latest.code, latest.modified):
        return last
    function.published += 1
    version = msgspec.structs.replace(
        latest,
        number=str(function.published),
        description=description or latest.description,
        revision=new_uuid(),
    )
    function.versions.append(version)
    return version


def _check_revision(revision: str, request: dict[str, Any]) -> None:
    if request.get("RevisionId", revision) != revision:
        raise LambdaError(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the "
            "GetFunction/GetAlias API to retrieve the latest Revision Id",
            412,
            Type="User",
        )


def cut_page(name: str, found: Sequence[_T], request: dict[str, Any], *, most: int = _PAGE) -> dict[str, Any]:
    """A page of a list, of at most so many items. A marker is the position of its first item."""
    marker = request.get("Marker", "0")
    start = int(marker) if marker.isdecimal() else 0
    end = start + min(request.get("MaxItems", most), most)
    return {name: list(found[start:end]), **({"NextMarker": str(end)} if end < len(found) else {})}


def list_operations(operations: FunctionOperations) -> dict[str, Any]:
    """The methods by the names of AWS's operations."""
    return {
        "CreateFunction": operations.create_function,
        "GetFunction": operations.get_function,
        "GetFunctionConfiguration": operations.get_function_configuration,
        "ListFunctions": operations.list_functions,
        "DeleteFunction": operations.delete_function,
        "UpdateFunctionCode": operations.update_function_code,
        "UpdateFunctionConfiguration": operations.update_function_configuration,
        "PublishVersion": operations.publish_version,
        "ListVersionsByFunction": operations.list_versions,
        "CreateAlias": operations.create_alias,
        "UpdateAlias": operations.update_alias,
        "GetAlias": operations.get_alias,
        "ListAliases": operations.list_aliases,
        "DeleteAlias": operations.delete_alias,
        "PutFunctionConcurrency": operations.put_concurrency,
        "GetFunctionConcurrency": operations.get_concurrency,
        "DeleteFunctionConcurrency": operations.delete_concurrency,
        "PutFunctionEventInvokeConfig": operations.put_asynchronous,
        "UpdateFunctionEventInvokeConfig": operations.update_asynchronous,
        "GetFunctionEventInvokeConfig": operations.get_asynchronous,
        "DeleteFunctionEventInvokeConfig": operations.delete_asynchronous,
        "ListTags": operations.list_tags,
        "TagResource": operations.tag,
        "UntagResource": operations.untag,
        "AddPermission": operations.add_permission,
        "GetPolicy": operations.get_policy,
        "RemovePermission": operations.remove_permission,
        "GetAccountSettings": operations.get_account_settings,
        "GetFunctionCodeSigningConfig": operations.get_code_signing,
    }

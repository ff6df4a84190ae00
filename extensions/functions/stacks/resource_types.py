"""The types of resources that stacks may have: by which calls of which service each is made and changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from extensions.functions.engine.function_code import zip_files

Properties: TypeAlias = Mapping[str, Any]
_Arguments: TypeAlias = Callable[[Properties, Properties], Properties | None]
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Call(NamedTuple):
    """An operation of boto3, with what it is given of a resource's properties now and before.

    Of the arguments the operation takes those that it has. It is not called where they are None.
    """

    operation: str
    arguments: _Arguments = lambda now, _before: now


class ResourceType(NamedTuple):
    """A type of resource. Without a ``service`` nothing is made: it is a name, and nobody is asked.

    ``physical`` is its id, ``attributes`` those of Fn::GetAtt, and ``keys`` the arguments of every call but
    the first: forms for properties, for what the first call answered, for ``account`` and ``region``.
    ``named`` by a property, which is made up, with up to ``longest`` characters, where a template
    has it not. It has the properties that are arguments of its calls, and ``more``, and needs another
    resource where one of those that it ``replaces`` changes; None: any. ``defaults`` are what a property is
    that a template gives no more. ``taken`` succeeds where there is one of the name already. ``settled``
    says by an operation, the way to a state in its answer, and the states whether it is in no transition.
    """

    physical: str
    attributes: Mapping[str, str] = _NONE
    service: str = ""
    named: str = ""
    longest: int = 64
    keys: Mapping[str, str] = _NONE
    create: tuple[Call, ...] = ()
    update: tuple[Call, ...] = ()
    delete: Call | None = None
    more: str = ""
    replaces: str | None = ""
    defaults: Properties = _NONE
    taken: Call | None = None
    settled: tuple[str, tuple[str, ...], tuple[str, ...]] | None = None


def _given(name: str, make: Callable[[Properties], Properties] = lambda now: now) -> _Arguments:
    """The arguments of a call that is there for one property, where it is given."""
    return lambda now, _before: make(now) if name in now else None


def _code(now: Properties) -> Properties:
    """A function's code. A text is a file, named as CloudFormation names it."""
    code = dict(now.get("Code", {}))
    if isinstance(code.get("ZipFile"), str):
        suffix = "js" if str(now.get("Runtime", "")).startswith("nodejs") else "py"
        code["ZipFile"] = zip_files({f"index.{suffix}": code["ZipFile"].encode()})
    return code


def _hours(properties: Properties) -> int:
    return int(properties.get("RetentionPeriodHours", 24))


def _of_queue(now: Properties) -> Properties:
    return {"Attributes": {name: value for name, value in now.items() if name in _QUEUE.split()}}


def _bucket(now: Properties) -> Properties:
    region, given = now["region"], {"Bucket": now["BucketName"]}
    elsewhere = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    return given if region == "us-east-1" else {**given, **elsewhere}


_RESERVED: Final = "ReservedConcurrentExecutions"
_QUEUE: Final = (
    "ContentBasedDeduplication DeduplicationScope DelaySeconds FifoQueue FifoThroughputLimit KmsMasterKeyId "
    "KmsDataKeyReusePeriodSeconds MaximumMessageSize MessageRetentionPeriod ReceiveMessageWaitTimeSeconds "
    "RedriveAllowPolicy RedrivePolicy SqsManagedSseEnabled VisibilityTimeout"
)
_LONGER: Final = Call(
    "increase_stream_retention_period",
    lambda now, before: {"RetentionPeriodHours": _hours(now)} if _hours(now) > _hours(before) else None,
)
_SHORTER: Final = Call(
    "decrease_stream_retention_period",
    lambda now, before: {"RetentionPeriodHours": _hours(now)} if _hours(now) < _hours(before) else None,
)
_ENCRYPTED: Final = Call(
    "start_stream_encryption", _given("StreamEncryption", lambda now: now["StreamEncryption"])
)
_SCALED: Final = Call(
    "update_shard_count",
    _given(
        "ShardCount", lambda now: {"TargetShardCount": now["ShardCount"], "ScalingType": "UNIFORM_SCALING"}
    ),
)
_VERSIONED: Final = Call("put_bucket_versioning", _given("VersioningConfiguration"))

TYPES: Final[Mapping[str, ResourceType]] = {
    "AWS::Lambda::Function": ResourceType(
        "{FunctionName}",
        {"Arn": "{FunctionArn}"},
        "lambda",
        "FunctionName",
        keys={"FunctionName": "{FunctionName}"},
        create=(
            Call(
                "create_function", lambda now, _: {**now, **({"Code": _code(now)} if "Code" in now else {})}
            ),
            Call("put_function_concurrency", _given(_RESERVED)),
        ),
        update=(
            Call("update_function_code", lambda now, _: _code(now)),
            Call("update_function_configuration"),
            Call("put_function_concurrency", _given(_RESERVED)),
            Call(
                "delete_function_concurrency",
                lambda now, before: {} if _RESERVED in before and _RESERVED not in now else None,
            ),
        ),
        delete=Call("delete_function"),
        replaces="PackageType",
        defaults={
            "DeadLetterConfig": {"TargetArn": ""},
            "Description": "",
            "Environment": {"Variables": {}},
            "MemorySize": 128,
            "Timeout": 3,
        },
    ),
    "AWS::Lambda::EventSourceMapping": ResourceType(
        "{UUID}",
        {"Id": "{UUID}", "EventSourceMappingArn": "{EventSourceMappingArn}"},
        "lambda",
        keys={"UUID": "{UUID}"},
        create=(Call("create_event_source_mapping"),),
        update=(Call("update_event_source_mapping"),),
        delete=Call("delete_event_source_mapping"),
        replaces="EventSourceArn StartingPosition StartingPositionTimestamp",
        defaults={
            "DestinationConfig": {},
            "Enabled": True,
            "FilterCriteria": {},
            "FunctionResponseTypes": [],
        },
        settled=("get_event_source_mapping", ("State",), ("Enabled", "Disabled")),
    ),
    "AWS::Lambda::Version": ResourceType(
        "{FunctionArn}",
        {"Version": "{Version}", "FunctionArn": "{FunctionArn}"},
        "lambda",
        keys={"FunctionName": "{FunctionArn}"},
        create=(Call("publish_version"),),
        delete=Call("delete_function"),
        replaces=None,
    ),
    "AWS::Lambda::Alias": ResourceType(
        "{AliasArn}",
        {"AliasArn": "{AliasArn}"},
        "lambda",
        keys={"FunctionName": "{FunctionName}", "Name": "{Name}"},
        create=(Call("create_alias"),),
        update=(Call("update_alias"),),
        delete=Call("delete_alias"),
        replaces="FunctionName Name",
        defaults={"RoutingConfig": {"AdditionalVersionWeights": {}}},
    ),
    "AWS::Lambda::Permission": ResourceType(
        "{StatementId}",
        {"Id": "{StatementId}"},
        "lambda",
        "StatementId",
        keys={"FunctionName": "{FunctionName}", "StatementId": "{StatementId}"},
        create=(Call("add_permission"),),
        delete=Call("remove_permission"),
        replaces=None,
    ),
    "AWS::Lambda::EventInvokeConfig": ResourceType(
        "{FunctionName}|{Qualifier}",
        service="lambda",
        keys={"FunctionName": "{FunctionName}", "Qualifier": "{Qualifier}"},
        create=(Call("put_function_event_invoke_config"),),
        update=(Call("put_function_event_invoke_config"),),
        delete=Call("delete_function_event_invoke_config"),
        replaces="FunctionName Qualifier",
    ),
    "AWS::Kinesis::Stream": ResourceType(
        "{Name}",
        {"Arn": "arn:aws:kinesis:{region}:{account}:stream/{Name}"},
        "kinesis",
        "Name",
        128,
        keys={"StreamName": "{Name}", "StreamARN": "arn:aws:kinesis:{region}:{account}:stream/{Name}"},
        create=(
            Call("create_stream", lambda now, _: {**now, "StreamName": now["Name"]}),
            _LONGER,
            _ENCRYPTED,
        ),
        update=(
            Call("update_stream_mode", _given("StreamModeDetails")),
            _SCALED,
            _LONGER,
            _SHORTER,
            _ENCRYPTED,
        ),
        delete=Call("delete_stream", lambda _now, _before: {"EnforceConsumerDeletion": True}),
        more="Name StreamEncryption",
        settled=("describe_stream_summary", ("StreamDescriptionSummary", "StreamStatus"), ("ACTIVE",)),
    ),
    "AWS::SQS::Queue": ResourceType(
        "{QueueUrl}",
        {
            "Arn": "arn:aws:sqs:{region}:{account}:{QueueName}",
            "QueueName": "{QueueName}",
            "QueueUrl": "{QueueUrl}",
        },
        "sqs",
        "QueueName",
        80,
        keys={"QueueUrl": "{QueueUrl}"},
        create=(Call("create_queue", lambda now, _: {**now, **_of_queue(now), "tags": now.get("Tags", [])}),),
        update=(Call("set_queue_attributes", lambda now, _: _of_queue(now)),),
        delete=Call("delete_queue"),
        more=f"{_QUEUE} Tags",
        replaces="FifoQueue",
        defaults={"DelaySeconds": 0, "RedrivePolicy": "", "VisibilityTimeout": 30},
        taken=Call("get_queue_url"),
    ),
    "AWS::SNS::Topic": ResourceType(
        "{TopicArn}",
        {"TopicArn": "{TopicArn}", "TopicName": "{TopicName}"},
        "sns",
        "TopicName",
        256,
        keys={"TopicArn": "{TopicArn}"},
        create=(Call("create_topic", lambda now, _: {**now, "Name": now["TopicName"]}),),
        delete=Call("delete_topic"),
        more="TopicName",
    ),
    "AWS::S3::Bucket": ResourceType(
        "{BucketName}",
        {
            "Arn": "arn:aws:s3:::{BucketName}",
            "DomainName": "{BucketName}.s3.amazonaws.com",
            "RegionalDomainName": "{BucketName}.s3.{region}.amazonaws.com",
        },
        "s3",
        "BucketName",
        63,
        keys={"Bucket": "{BucketName}"},
        create=(
            Call("create_bucket", lambda now, _: _bucket(now)),
            _VERSIONED,
            Call("put_bucket_tagging", _given("Tags", lambda now: {"Tagging": {"TagSet": now["Tags"]}})),
        ),
        update=(_VERSIONED,),
        delete=Call("delete_bucket"),
        more="AccessControl BucketEncryption BucketName LifecycleConfiguration OwnershipControls "
        "PublicAccessBlockConfiguration Tags",
        taken=Call("head_bucket", lambda now, _: _bucket(now)),
    ),
    "AWS::SSM::Parameter": ResourceType(
        "{Name}",
        {"Type": "{Type}", "Value": "{Value}"},
        "ssm",
        "Name",
        keys={"Name": "{Name}"},
        create=(Call("put_parameter"),),
        update=(Call("put_parameter", lambda now, _: {**now, "Overwrite": True}),),
        delete=Call("delete_parameter"),
    ),
    "AWS::IAM::Role": ResourceType(
        "{RoleName}",
        {"Arn": "arn:aws:iam::{account}:role/{RoleName}", "RoleId": "{RoleName}"},
        "",
        "RoleName",
    ),
    "AWS::IAM::Policy": ResourceType("{PolicyName}", named="PolicyName"),
    "AWS::IAM::ManagedPolicy": ResourceType(
        "arn:aws:iam::{account}:policy/{ManagedPolicyName}", named="ManagedPolicyName"
    ),
    "AWS::S3::BucketPolicy": ResourceType("{Bucket}"),
    "AWS::ECR::Repository": ResourceType(
        "{RepositoryName}",
        {
            "Arn": "arn:aws:ecr:{region}:{account}:repository/{RepositoryName}",
            "RepositoryUri": "{account}.dkr.ecr.{region}.amazonaws.com/{RepositoryName}",
        },
        named="RepositoryName",
    ),
    "AWS::KMS::Key": ResourceType(
        "{KeyId}", {"Arn": "arn:aws:kms:{region}:{account}:key/{KeyId}"}, named="KeyId"
    ),
    "AWS::KMS::Alias": ResourceType("{AliasName}"),
    "AWS::Logs::LogGroup": ResourceType(
        "{LogGroupName}",
        {"Arn": "arn:aws:logs:{region}:{account}:log-group:{LogGroupName}:*"},
        named="LogGroupName",
    ),
    "AWS::CDK::Metadata": ResourceType("{Id}", named="Id"),
}

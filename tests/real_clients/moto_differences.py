"""Where moto's own suites end otherwise against the sandbox than against moto's server: each test, and why.

In Kinesis the sandbox has an engine of its own; docs/aws.md says what speaks for its answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STACKS: Final = "a stack is made behind the answer, as in AWS, and these tests do not wait for it"
"""The one reason for which a test ends now so, now so."""
_NUMBERS: Final = "sequence numbers are AWS's 56 digits, not 1, 2, 3"
_WAY: Final = "the way of UpdateShardCount is not public: docs/aws.md has ours"
_METRICS: Final = "the engine puts no metrics into CloudWatch"
_SUITE: Final = "the error and its text are those that kinesalite's suite saw of AWS"
_RESET_AUTH: Final = (
    "of moto's own API there is a reset alone, so the test finds no reset-auth and fails, where it is skipped"
)


def _all(why: str, module: str, *names: str) -> dict[str, str]:
    return {f"{module}::{name}": why for name in names}


DIFFERENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "s3": {
        **_all(
            STACKS,
            "test_s3_cloudformation",
            "test_s3_bucket_cloudformation_basic",
            "test_s3_bucket_cloudformation_with_properties",
            "test_s3_bucket_cloudformation_update_no_interruption",
            "test_s3_bucket_cloudformation_update_replacement",
            "test_s3_bucket_cloudformation_outputs",
        ),
        **_all(
            _RESET_AUTH,
            "test_s3_auth",
            "test_load_unexisting_object_without_auth_should_return_403",
            "test_head_bucket_with_correct_credentials",
            "test_head_bucket_with_incorrect_credentials",
            "test_delete_objects_without_access_throws_custom_error",
        ),
        "test_s3_metadata::test_s3_returns_requestid": (
            "S3's answers have x-amz-request-id, as the reference says, and no x-amzn-requestid"
        ),
    },
    "sqs": _all(
        STACKS,
        "test_sqs_cloudformation",
        "test_describe_stack_subresources",
        "test_list_stack_resources",
        "test_create_from_cloudformation_json_with_tags",
        "test_update_stack",
        "test_update_stack_and_remove_resource",
        "test_update_stack_and_add_resource",
        "test_create_queue_passing_integer_as_name",
    ),
    "sns": _all(
        STACKS,
        "test_sns_cloudformation",
        "test_sns_topic",
        "test_sns_update_topic",
        "test_sns_update_remove_topic[True]",
        "test_sns_update_remove_topic[False]",
        "test_sns_delete_topic[True]",
        "test_sns_delete_topic[False]",
        "test_sns_fifo_topic[True]",
        "test_sns_fifo_topic[False]",
    ),
    "ssm": {
        **_all(
            STACKS,
            "test_ssm_cloudformation",
            "test_get_command_invocations_from_stack",
            "test_ssm_documents",
        ),
        **_all(
            STACKS,
            "test_ssm_parameterstore_cloudformation",
            "test_cloudformation_lifecycle",
            "test_cloudformation_lifecycle_with_parsing",
        ),
    },
    "dynamodb": {
        **_all(
            STACKS,
            "test_dynamodb_cloudformation",
            "test_create_stack_pay_per_request",
            "test_create_stack_with_indexes",
            "test_delete_stack_dynamo_template",
        ),
        "test_dynamodb_iam_permission::test_dynamodb_authorization_put_item": (
            "an access key of twelve digits is its account; a role's key is not, so it is of 000000000000"
        ),
    },
    "kinesis": {
        **_all(
            STACKS,
            "test_kinesis_cloudformation",
            "test_kinesis_cloudformation_create_stream",
            "test_kinesis_cloudformation_get_attr",
            "test_kinesis_cloudformation_update",
            "test_kinesis_cloudformation_delete",
        ),
        **_all(_NUMBERS, "test_kinesis", "test_put_records", "test_get_records_after_sequence_number"),
        **_all(
            _SUITE,
            "test_kinesis",
            "test_get_records_latest",
            "test_get_records_at_very_new_timestamp",
            "test_merge_shards_invalid_arg",
        ),
        **_all(
            _WAY,
            "test_kinesis_boto3",
            "test_update_shard_count[10-13-37]",
            "test_update_shard_count[5-3-7]",
            "test_update_shard_count[10-3-17]",
        ),
        **_all(
            _METRICS,
            "test_kinesis_monitoring",
            "test_put_record_sends_basic_stream_metrics",
            "test_put_records_sends_aggregated_stream_metrics",
        ),
        "test_kinesis::test_list_many_streams": "botocore's model: the default of Limit is 100, not 10",
        "test_kinesis::test_get_invalid_shard_iterator": (
            "the shard is named in full, as a comment in the test says that AWS does"
        ),
        "test_kinesis::test_invalid_shard_iterator_type": (
            "botocore's model: an enumeration, and AWS answers ValidationException to what breaks the model"
        ),
        "test_kinesis_boto3::test_list_shards_paging": (
            "botocore's model: no StreamName beside a NextToken, or InvalidArgumentException"
        ),
        "test_kinesis_boto3::test_split_shard_invalid_hashkey": (
            "the pattern in the text is that of botocore's model, which has ^ and $ today"
        ),
        "test_kinesis_boto3::test_split_shard_hashkey_out_of_bounds": (
            "the last shard ends at 2^128 - 1, as kinesalite's suite saw it, and not one below"
        ),
        "test_kinesis_boto3::test_describe_limits": "AWS's quota of us-west-2 is 20,000 shards, not 6,000",
        "test_kinesis_monitoring::test_enable_enhanced_monitoring_all": (
            "the AWS CLI's recorded example: ALL is answered with the seven metrics"
        ),
        **_all(
            "the text names the stream, as that of each other operation on a stream that is not there",
            "test_kinesis_resource_policy",
            "test_get_resource_policy_from_unknown_resource",
            "test_delete_resource_policy_from_unknown_resource",
        ),
        "test_kinesis_resource_policy::test_delete_resource_policy_from_resource_without_policy": (
            "a full stop at the end; AWS's text is not public"
        ),
        "test_kinesis_stream_consumers::test_register_stream_consumer": (
            "botocore's model: a consumer's ARN ends in its time of creation"
        ),
        "test_kinesis_stream_consumers::test_describe_stream_consumer_unknown": (
            "botocore's model: 'unknown' breaks the pattern of ConsumerARN, so ValidationException"
        ),
        "test_kinesis_stream_limits::test_total_record_data_exceeds_5mb": (
            "a record with its key is above the limit of one, which is said first: docs/aws.md"
        ),
        "test_kinesis_stream_limits::test_too_many_records": (
            "the text holds the value, as the one that kinesalite's suite saw of AWS"
        ),
    },
}

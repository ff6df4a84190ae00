"""Functions, versions and aliases as boto3 sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from extensions.functions.engine.function_code import zip_files
from tests.extensions.functions.conftest import ROLE, Aws

SAYS = "def handler(event, context):\n    return {'says': %r, 'version': context.function_version}\n"


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    code: str = error.value.response["Error"]["Code"]
    return code


def test_a_function_is_made_shown_changed_and_deleted(aws: Aws) -> None:
    """With the states that AWS has on the way."""
    made = aws.make(
        "life", SAYS % "one", Timeout=7, Environment={"Variables": {"A": "b"}}, Tags={"team": "x"}
    )
    assert (made["State"], made["Version"], made["Timeout"]) == ("Pending", "$LATEST", 7)
    assert "LastUpdateStatus" not in made
    runtime = made["RuntimeVersionConfig"]["RuntimeVersionArn"]
    assert runtime.startswith("arn:aws:lambda:us-east-1::runtime:")
    assert made["FunctionArn"] == "arn:aws:lambda:us-east-1:000000000000:function:life"
    aws.lambda_.get_waiter("function_active_v2").wait(FunctionName="life")
    found = aws.lambda_.get_function(FunctionName=made["FunctionArn"])
    assert found["Configuration"]["Environment"] == {"Variables": {"A": "b"}}
    assert found["Tags"] == {"team": "x"}
    updated = aws.lambda_.update_function_configuration(FunctionName="life", MemorySize=256)
    assert updated["LastUpdateStatus"] == "InProgress"
    aws.lambda_.update_function_code(
        FunctionName="life", ZipFile=zip_files({"h.py": (SAYS % "two").encode()})
    )
    aws.lambda_.get_waiter("function_updated_v2").wait(FunctionName="life")
    shown = aws.lambda_.get_function_configuration(FunctionName="life")
    assert (shown["MemorySize"], shown["Timeout"]) == (256, 7)
    assert json.loads(aws.invoke("life")[0])["says"] == "two"
    aws.lambda_.delete_function(FunctionName="life")
    with pytest.raises(ClientError, match="Function not found") as error:
        aws.lambda_.get_function(FunctionName="life")
    assert code_of(error) == "ResourceNotFoundException"


def test_a_version_stays_as_it_was_and_an_alias_leads_to_it(aws: Aws) -> None:
    """While ``$LATEST`` changes."""
    aws.make("versions", SAYS % "one")
    assert aws.lambda_.publish_version(FunctionName="versions")["Version"] == "1"
    assert aws.lambda_.publish_version(FunctionName="versions")["Version"] == "1"
    aws.lambda_.create_alias(FunctionName="versions", Name="live", FunctionVersion="1")
    archive = zip_files({"h.py": (SAYS % "two").encode()})
    aws.lambda_.update_function_code(FunctionName="versions", ZipFile=archive, Publish=True)
    assert json.loads(aws.invoke("versions", Qualifier="live")[0]) == {"says": "one", "version": "1"}
    assert json.loads(aws.invoke("versions")[0]) == {"says": "two", "version": "$LATEST"}
    aws.lambda_.update_alias(FunctionName="versions", Name="live", FunctionVersion="2")
    assert json.loads(aws.invoke("versions:live")[0]) == {"says": "two", "version": "2"}
    listed = aws.lambda_.list_versions_by_function(FunctionName="versions")["Versions"]
    assert [each["Version"] for each in listed] == ["$LATEST", "1", "2"]
    with pytest.raises(ClientError) as error:
        aws.lambda_.delete_function(FunctionName="versions", Qualifier="2")
    assert code_of(error) == "ResourceConflictException"


def test_the_weights_of_an_alias_share_its_invocations(aws: Aws) -> None:
    """Both versions are invoked."""
    aws.make("canary", SAYS % "one", Publish=True)
    archive = zip_files({"h.py": (SAYS % "two").encode()})
    aws.lambda_.update_function_code(FunctionName="canary", ZipFile=archive, Publish=True)
    weights = {"AdditionalVersionWeights": {"2": 0.5}}
    aws.lambda_.create_alias(FunctionName="canary", Name="live", FunctionVersion="1", RoutingConfig=weights)
    answers = {json.loads(aws.invoke("canary", Qualifier="live")[0])["version"] for _ in range(20)}
    assert answers == {"1", "2"}


def test_permissions_concurrency_tags_and_event_settings_are_kept(aws: Aws) -> None:
    """As deployment tools set and read them."""
    arn = aws.make("kept", SAYS % "one")["FunctionArn"]
    aws.lambda_.add_permission(
        FunctionName="kept", StatementId="s3", Action="lambda:InvokeFunction", Principal="s3.amazonaws.com"
    )
    policy = json.loads(aws.lambda_.get_policy(FunctionName="kept")["Policy"])
    assert policy["Statement"][0]["Principal"] == {"Service": "s3.amazonaws.com"}
    aws.lambda_.remove_permission(FunctionName="kept", StatementId="s3")
    with pytest.raises(ClientError, match="does not exist"):
        aws.lambda_.get_policy(FunctionName="kept")
    aws.lambda_.tag_resource(Resource=arn, Tags={"a": "1", "b": "2"})
    aws.lambda_.untag_resource(Resource=arn, TagKeys=["a"])
    assert aws.lambda_.list_tags(Resource=arn)["Tags"] == {"b": "2"}
    aws.lambda_.put_function_event_invoke_config(FunctionName="kept", MaximumRetryAttempts=1)
    assert aws.lambda_.get_function_event_invoke_config(FunctionName="kept")["MaximumRetryAttempts"] == 1
    aws.lambda_.put_function_concurrency(FunctionName="kept", ReservedConcurrentExecutions=0)
    with pytest.raises(ClientError) as error:
        aws.invoke("kept")
    assert code_of(error) == "TooManyRequestsException"
    aws.lambda_.delete_function_concurrency(FunctionName="kept")
    assert aws.invoke("kept")[1] == ""


def test_functions_are_listed_in_pages(aws: Aws) -> None:
    for number in range(3):
        aws.make(f"page-{number}", SAYS % "x")
    pages = aws.lambda_.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 2})
    names = [each["FunctionName"] for page in pages for each in page["Functions"]]
    assert [name for name in names if name.startswith("page-")] == ["page-0", "page-1", "page-2"]
    assert len(names) == len(set(names))


def test_code_comes_from_a_bucket_too(aws: Aws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="code")
    s3.put_object(Bucket="code", Key="f.zip", Body=zip_files({"h.py": (SAYS % "bucket").encode()}))
    aws.make("from-bucket", "", Code={"S3Bucket": "code", "S3Key": "f.zip"})
    assert json.loads(aws.invoke("from-bucket")[0])["says"] == "bucket"
    with pytest.raises(ClientError, match="GetObject"):
        aws.make("from-nowhere", "", Code={"S3Bucket": "code", "S3Key": "none.zip"})


def test_a_watched_folder_is_read_again_when_it_changes(aws: Aws, tmp_path: Path) -> None:
    """Without an update of the function."""
    (tmp_path / "h.py").write_text(SAYS % "before")
    aws.make("watched", "", Code={"S3Bucket": "hot-reload", "S3Key": str(tmp_path)})
    assert json.loads(aws.invoke("watched")[0])["says"] == "before"
    (tmp_path / "h.py").write_text(SAYS % "behind it")
    assert json.loads(aws.invoke("watched")[0])["says"] == "behind it"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"Code": {"ZipFile": b"no archive"}}, "InvalidParameterValueException"),
        ({"Code": {}}, "InvalidParameterValueException"),
        ({"Runtime": "ruby3.3"}, "InvalidParameterValueException"),
        ({"Timeout": 901}, "ValidationException"),
        ({"MemorySize": 99_999}, "ValidationException"),
        ({"PackageType": "Image", "Code": {"ImageUri": "x"}}, "InvalidParameterValueException"),
        ({"Code": {"S3Bucket": "hot-reload", "S3Key": "/there/is/none"}}, "InvalidParameterValueException"),
    ],
)
def test_what_cannot_be_made_is_refused(aws: Aws, settings: dict[str, Any], code: str) -> None:
    """With AWS's codes, and nothing is left of it."""
    with pytest.raises(ClientError) as error:
        aws.make("refused", "", **settings)
    assert code_of(error) == code
    with pytest.raises(ClientError):
        aws.lambda_.get_function(FunctionName="refused")


def test_a_name_that_is_taken_and_an_operation_that_is_not_here_are_refused(aws: Aws) -> None:
    aws.make("taken", SAYS % "x")
    with pytest.raises(ClientError, match="already exist") as error:
        aws.make("taken", SAYS % "x")
    assert code_of(error) == "ResourceConflictException"
    with pytest.raises(ClientError) as error:
        aws.lambda_.create_function_url_config(FunctionName="taken", AuthType="NONE")
    assert code_of(error) == "UnknownOperationException"


@pytest.mark.parametrize("path", ["functions", "functions/taken", "event-source-mappings"])
def test_a_request_without_a_signature_is_refused_as_lambda_does(aws: Aws, path: str) -> None:
    """And is none of S3, though its path could name a bucket."""
    answer = httpx.get(f"{aws.emulator.aws}/2015-03-31/{path}")
    assert (answer.status_code, answer.json()) == (403, {"message": "Missing Authentication Token"})
    assert answer.headers["x-amzn-errortype"] == "MissingAuthenticationTokenException"


def test_an_archive_writes_nothing_outside_of_its_folder(aws: Aws, tmp_path: Path) -> None:
    """Whatever its names say."""
    outside = tmp_path / "outside.py"
    archive = zip_files({f"../../../../../../../..{outside}": b"bad", "h.py": (SAYS % "x").encode()})
    aws.lambda_.create_function(
        FunctionName="sly", Runtime="python3.11", Handler="h.handler", Role=ROLE, Code={"ZipFile": archive}
    )
    assert not outside.exists()

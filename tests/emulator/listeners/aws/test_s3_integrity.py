"""S3 keeps nothing that is not what its request says, and tells who answered."""

from __future__ import annotations

import hashlib
import io
import re
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import crc32c
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator.rng import new_uuid
from tests.emulator.endpoint_fixtures import Endpoint
from tests.emulator.listeners.aws.test_moto_services import S3_SIGNED

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BODY = b"hello" * 1000
OTHER = b"hullo" * 1000
DIGESTS = {
    "crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "crc32c": lambda data: crc32c.crc32c(data).to_bytes(4, "big"),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
}
ALGORITHMS = list(DIGESTS)
NO_MATCH = "The Content-MD5 you specified did not match what we received."


def md5(data: bytes) -> str:
    return b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def checksum(algorithm: str, data: bytes) -> str:
    return b64encode(DIGESTS[algorithm](data)).decode()


@pytest.fixture
def bucket(endpoint: Endpoint) -> tuple[str, S3Client]:
    """A new bucket's name, and the S3 client that made it."""
    s3 = endpoint.client("s3")
    name = f"bucket-{new_uuid()}"  # moto is one for the process, and a port comes again
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-2"})
    return name, s3


def put(endpoint: Endpoint, bucket: tuple[str, S3Client], body: bytes, **headers: str) -> Any:
    """PUT an object, the headers' names with underscores; what the answer's XML says by element."""
    given = S3_SIGNED | {name.replace("_", "-"): value for name, value in headers.items()}
    response = endpoint.http.put(f"/{bucket[0]}/key", headers=given, content=body)
    return response.status_code, dict(re.findall(r"<([\w-]+)>([^<]*)</\1>", response.text))


def chunked(data: bytes, *trailers: str) -> bytes:
    half = len(data) // 2
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (data[:half], data[half:])]
    return b"".join([*chunks, b"0\r\n", *(f"{line}\r\n".encode() for line in trailers), b"\r\n"])


def streamed(length: int, algorithm: str) -> dict[str, str]:
    return {
        "content_encoding": "aws-chunked",
        "x_amz_content_sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x_amz_decoded_content_length": str(length),
        "x_amz_trailer": f"x-amz-checksum-{algorithm}",
    }


def keys(bucket: tuple[str, S3Client]) -> list[str]:
    name, s3 = bucket
    return [found["Key"] for found in s3.list_objects_v2(Bucket=name).get("Contents", [])]


def test_a_wrong_md5_is_refused_and_nothing_kept(bucket: tuple[str, S3Client]) -> None:
    """Of an object and of a part; the right one is taken."""
    name, s3 = bucket
    with pytest.raises(ClientError, match=rf"\(BadDigest\).*{NO_MATCH}") as refused:
        s3.put_object(Bucket=name, Key="key", Body=BODY, ContentMD5=md5(OTHER))
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert refused.value.response["Error"]["ExpectedDigest"] == md5(OTHER)
    assert refused.value.response["Error"]["CalculatedDigest"] == md5(BODY)
    part = {"Bucket": name, "Key": "key", "PartNumber": 1}
    part["UploadId"] = s3.create_multipart_upload(Bucket=name, Key="key")["UploadId"]
    with pytest.raises(ClientError, match="BadDigest"):
        s3.upload_part(**part, Body=BODY, ContentMD5=md5(OTHER))
    assert "Parts" not in s3.list_parts(Bucket=name, Key="key", UploadId=part["UploadId"])
    assert keys(bucket) == []
    etag = s3.upload_part(**part, Body=BODY, ContentMD5=md5(BODY))["ETag"]
    parts = {"Parts": [{"ETag": etag, "PartNumber": 1}]}
    s3.complete_multipart_upload(Bucket=name, Key="key", UploadId=part["UploadId"], MultipartUpload=parts)
    s3.put_object(Bucket=name, Key="other", Body=BODY, ContentMD5=md5(BODY))
    assert keys(bucket) == ["key", "other"]


@pytest.mark.parametrize("given", ["xx", "", "AAAA", md5(b"") + "AAAA", md5(b"").rstrip("=")])
def test_an_md5_that_is_none(endpoint: Endpoint, bucket: tuple[str, S3Client], given: str) -> None:
    """It need not be compared."""
    status, told = put(endpoint, bucket, BODY, content_md5=given)
    assert (status, told["Code"], told["Message"]) == (
        400,
        "InvalidDigest",
        "The Content-MD5 you specified was invalid.",
    )
    assert keys(bucket) == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_checksums_are_compared(endpoint: Endpoint, bucket: tuple[str, S3Client], algorithm: str) -> None:
    """In a header and in the trailer of a body in chunks."""
    said = f"x_amz_checksum_{algorithm}"
    wrong = f"The {algorithm.upper()} you specified did not match the calculated checksum."
    for value, expected in ((checksum(algorithm, OTHER), wrong), (checksum(algorithm, BODY), None)):
        _, told = put(endpoint, bucket, BODY, **{said: value})
        assert told.get("Message") == expected
        trailing = chunked(BODY, f"{said.replace('_', '-')}:{value}")
        _, told = put(endpoint, bucket, trailing, **streamed(len(BODY), algorithm))
        assert (told.get("Code"), told.get("Message")) == ("BadDigest" if expected else None, expected)
        assert keys(bucket) == ([] if expected else ["key"])
    name, s3 = bucket
    assert s3.get_object(Bucket=name, Key="key")["Body"].read() == BODY


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "crc64nvme"])
@pytest.mark.parametrize("value", ["", "AA==", "no base64", "A" * 88])
def test_checksums_that_are_none(
    endpoint: Endpoint, bucket: tuple[str, S3Client], algorithm: str, value: str
) -> None:
    """Of another length or alphabet; likewise in a trailer, and one that does not come."""
    name = f"x-amz-checksum-{algorithm}"
    status, told = put(endpoint, bucket, BODY, **{name: value})
    assert (status, told["Code"], told["Message"]) == (
        400,
        "InvalidRequest",
        f"Value for {name} header is invalid.",
    )
    body = chunked(BODY, f"{name}:{value}")
    _, told = put(endpoint, bucket, body, **streamed(len(BODY), algorithm))
    assert told["Message"] == f"Value for {name} trailing header is invalid."
    _, told = put(endpoint, bucket, chunked(BODY), **streamed(len(BODY), algorithm))
    assert told["Code"] == "MalformedTrailerError"
    assert keys(bucket) == []


def test_one_checksum_is_expected(endpoint: Endpoint, bucket: tuple[str, S3Client]) -> None:
    """Two are refused, right as they may be."""
    both = {f"x-amz-checksum-{name}": checksum(name, BODY) for name in ("crc32", "sha256")}
    assert put(endpoint, bucket, BODY, **both)[1]["Code"] == "InvalidRequest"


@pytest.mark.parametrize("cut", [1, 100, 4000])
def test_chunks_that_end_too_soon(endpoint: Endpoint, bucket: tuple[str, S3Client], cut: int) -> None:
    """Half an object is none."""
    whole = chunked(BODY, f"x-amz-checksum-crc32:{checksum('crc32', BODY)}")
    body = whole[: whole.index(b"\r\n0\r\n") + 2 - cut]
    status, told = put(endpoint, bucket, body, **streamed(len(BODY), "crc32"))
    assert (status, told["Code"]) == (400, "IncompleteBody")
    assert keys(bucket) == []


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_what_boto3_sends_is_right(bucket: tuple[str, S3Client], algorithm: str) -> None:
    """Objects, parts and lists of keys to delete, with the checksums that the SDK makes."""
    name, s3 = bucket
    s3.put_object(Bucket=name, Key="a", Body=BODY, ChecksumAlgorithm=algorithm)
    s3.upload_fileobj(io.BytesIO(bytes(9_000_000)), name, "b")
    assert keys(bucket) == ["a", "b"]
    s3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": "a"}, {"Key": "b"}]})
    assert keys(bucket) == []


def test_every_answer_of_s3_has_its_ids(endpoint: Endpoint, bucket: tuple[str, S3Client]) -> None:
    """Good ones and refusals, with and without a body; a refusal has the same in its XML."""
    name, s3 = bucket
    s3.put_object(Bucket=name, Key="key", Body=BODY)
    ask = endpoint.http.request
    good = [
        ask("GET", "/", headers=S3_SIGNED),
        ask("GET", f"/{name}/key", headers=S3_SIGNED),
        ask("HEAD", f"/{name}/key", headers=S3_SIGNED),
        ask("HEAD", f"/{name}/none", headers=S3_SIGNED),
        ask("DELETE", f"/{name}/none", headers=S3_SIGNED),
    ]
    refused = [
        ask("GET", f"/{name}/none", headers=S3_SIGNED),
        ask("GET", "/no-such-bucket", headers=S3_SIGNED),
        ask("GET", f"/{name}/key", headers=S3_SIGNED | {"range": "bytes=99999-"}),
        ask("PUT", f"/{name}/key", headers=S3_SIGNED | {"content-md5": "x"}, content=b"1"),
        ask("PUT", "/NO-NAME", headers=S3_SIGNED),
    ]
    for response in good + refused:
        assert response.headers["x-amz-request-id"]
        assert response.headers["x-amz-id-2"]
        assert "x-amzn-requestid" not in response.headers
    for response in refused:
        assert response.status_code >= 400
        assert re.findall("<RequestId>(.*?)</RequestId>", response.text) == [
            response.headers["x-amz-request-id"]
        ]
        assert re.findall("<HostId>(.*?)</HostId>", response.text) == [response.headers["x-amz-id-2"]]
    assert len({response.headers["x-amz-id-2"] for response in good + refused}) == len(good + refused)
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket=name, Key="none")
    metadata = caught.value.response["ResponseMetadata"]
    assert metadata["RequestId"] == metadata["HTTPHeaders"]["x-amz-request-id"]
    assert metadata["HostId"] == metadata["HTTPHeaders"]["x-amz-id-2"]


def test_a_presigned_url_that_lacks_a_part(bucket: tuple[str, S3Client], endpoint: Endpoint) -> None:
    """Each of its six parts must be there; a whole one is answered."""
    name, _ = bucket
    s3 = endpoint.client("s3", config=Config(signature_version="s3v4"))
    url = s3.generate_presigned_url("get_object", {"Bucket": name, "Key": "key"})
    s3.put_object(Bucket=name, Key="key", Body=BODY)
    assert endpoint.http.get(url).content == BODY
    for part in ("Credential", "Signature", "Date", "SignedHeaders", "Expires"):
        response = endpoint.http.get(re.sub(rf"&?X-Amz-{part}=[^&]*", "", url))
        assert response.status_code == 400
        assert "<Code>AuthorizationQueryParametersError</Code>" in response.text

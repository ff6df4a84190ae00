"""S3's buckets, objects with all their versions, and uploads under way, as keys and values.

What the sandbox's own archives put is left out: the streams that it comes from are durable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.buckets.objects.bodies import Bodies
from emulator.buckets.objects.object_bodies import Body
from emulator.buckets.objects.piece_table import PieceId
from emulator.journal import Change
from emulator.services.packing import make, pack, unpack
from emulator.services.places import Places
from emulator.services.s3_touching import touch_operations
from emulator.services.swept_values import SweptValues
from emulator.services.touched import Touched

_NAME: Final = "s3"
_FIRST_REGION: Final = "us-east-1"
"""The region of objects in logs that do not name it: earlier versions left this one out."""
_APART: Final = frozenset(("keys", "multiparts"))
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


class S3State:
    """S3 in moto, with the bodies of objects in ``bodies``. With ``fsync`` they survive loss of power."""

    name = _NAME

    def __init__(self, bodies: Bodies, *, fsync: bool) -> None:
        self._bodies = bodies
        self._fsync = fsync
        self._settings = SweptValues()
        self._named: list[tuple[Any, str, tuple[int, ...]]] = []

    def install(self) -> None:
        from moto.s3 import models

        if not getattr(models.FakeBucket.__init__, "touches", False):
            from emulator.services.s3_containers import TouchingKeys, TouchingUploads

            changed: Any = models
            changed._VersionedKeyStore, changed.MultipartDict = TouchingKeys, TouchingUploads  # noqa: SLF001
            touch_operations(models)

    def restore(self, values: Mapping[bytes, bytes]) -> None:
        from moto.s3 import models

        # Each value is unpacked when its turn comes: of many objects they would take most of the memory.
        kinds: defaultdict[str, list[tuple[list[Any], bytes]]] = defaultdict(list)
        for key, value in values.items():
            kind, *names = _decode(key)
            kinds[kind].append((names, value))
            if kind == "bucket":
                self._settings.note([(key, value)])
        buckets = {names[2]: self._restore_bucket(names, unpack(value)) for names, value in kinds["bucket"]}
        # In the order in which they were put: an object's last version is the one that is read.
        for (identity, _), version in sorted(kinds["version"], key=lambda each: each[0][1]):
            if identity in buckets:
                self._restore_version(buckets[identity], unpack(version))
        uploads = {}
        for (identity, upload), value in kinds["upload"]:
            if identity in buckets:
                made = make(models.FakeMultipart, {**unpack(value), "parts": {}, "partlist": []})
                made.kept_in = buckets[identity]
                uploads[upload] = made
                # Past its own method, which would note it as touched.
                dict.__setitem__(buckets[identity].multiparts, upload, made)
        for (upload, number), part in sorted(kinds["part"], key=lambda each: each[0]):
            if upload in uploads:
                uploads[upload].parts[number] = self._key_with(unpack(part))
                uploads[upload].partlist.append(number)
        # A process that ended between a body and its change in the log has left one that nobody has.
        self._bodies.keep_only(_pieces(buckets.values()))

    def changes(self, touched: Touched, units: Iterable[Any]) -> Iterator[Change]:
        of_a_bucket = touched.service == _NAME and not touched.path.strip("/").partition("/")[2]
        new = any(unit[0] != "key" and not self._settings.knows(_bucket_key(unit[1])) for unit in units)
        if new or (of_a_bucket and not touched.reading):
            yield from self._settings.sweep(_settings())
        for kind, bucket, subject in sorted(units, key=_later_for_keys):
            if kind == "names":
                yield from self._changed_versions(bucket, subject)
            elif kind == "key":
                yield from _key_changes(subject)
            elif kind == "upload":
                yield from _upload_changes(bucket, subject)
            else:
                upload, number = subject
                yield from _part_changes(bucket, upload, number)
        # Before the log names them.
        if self._fsync:
            self._bodies.sync()

    def everything(self) -> Iterator[Change]:
        yield from _settings()
        for bucket in _buckets():
            for name in list(dict.keys(bucket.keys)):
                for version in bucket.keys.getlist(name):
                    if self._is_kept(version):
                        _give_place(version)
                        yield _version_key(bucket, version), _version_value(bucket, version)
            for upload in bucket.multiparts.values():
                yield from _upload_changes(bucket, upload)
                for number in upload.parts:
                    yield from _part_changes(bucket, upload, number)

    def settle(self) -> None:
        self._settings.settle()
        for keys, name, kept in self._named:
            keys.note_stored(name, kept)
        self._named.clear()
        self._bodies.settle()

    def forget(self) -> None:
        self._settings.forget()

    def _changed_versions(self, bucket: Any, name: str) -> Iterator[Change]:
        """Yield what is new and what is gone of the versions of one object."""
        known = bucket.keys.stored(name)
        kept = []
        for version in bucket.keys.getlist(name, []):
            if not self._is_kept(version):
                continue
            _give_place(version)
            kept.append(version.kept_at)
            if version.kept_at not in known:
                yield _version_key(bucket, version), _version_value(bucket, version)
        for place in known:
            if place not in kept:
                yield _encode(("version", bucket.kept_as, place)), None
        self._named.append((bucket.keys, name, tuple(kept)))

    def _is_kept(self, version: Any) -> bool:
        """Whether a version of an object is stored: a deletion is, and what the archives put is not."""
        body = getattr(version, "_value_buffer", None)
        return body is None or body.store is self._bodies

    def _restore_bucket(self, names: list[Any], attributes: dict[str, Any]) -> Any:
        from moto.s3 import models

        partition, account, _ = names
        backend = models.s3_backends[account][partition]
        tags = attributes.pop("tags")
        private = models.get_canned_acl("private")
        if attributes["acl"].to_config_dict() == private.to_config_dict():
            # Objects have that of their bucket, and say nothing of it where it is this one.
            attributes["acl"] = private
        bucket = make(getattr(models, attributes.pop("class")), attributes)
        changed: Any = models
        bucket.keys, bucket.multiparts = changed._VersionedKeyStore(), changed.MultipartDict()  # noqa: SLF001
        bucket.keys.bucket = bucket.multiparts.bucket = bucket
        held = backend.table_buckets if type(bucket) is models.FakeTableStorageBucket else backend.buckets
        held[bucket.name] = bucket
        models.s3_backends.bucket_accounts[bucket.name] = (bucket.partition, account)
        if tags:
            backend.tagger.tags[bucket.arn] = tags
        return bucket

    def _restore_version(self, bucket: Any, attributes: dict[str, Any]) -> None:
        from moto.s3 import models

        tags = attributes.pop("tags", None)
        if attributes.pop("marker", False):
            version = make(models.FakeDeleteMarker, attributes)
            version.key = bucket.keys.get(version.name)
        else:
            version = self._key_with(attributes)
            if tags:
                backend = models.s3_backends[bucket.account_id][bucket.partition]
                backend.tagger.tags[version.arn] = tags
        _places.use(version.kept_at)
        bucket.keys.restore(version.name, version)

    def _key_with(self, attributes: dict[str, Any]) -> Any:
        from moto.s3.models import FakeMultipart

        from emulator.buckets.objects.small_key import SmallKey

        pieces, closed = attributes.pop("body")
        upload = attributes.pop("upload", None)
        body = Body(self._bodies, tuple(self._bodies.find(PieceId(*piece)) for piece in pieces))
        if closed:
            body.close()
        if upload is not None:
            parts = {number: self._key_with(part) for number, part in upload.pop("parts")}
            attributes["multipart"] = make(FakeMultipart, {**upload, "parts": parts})
        own = {"_value_buffer": body, "disposed": closed}
        return SmallKey.made_of({"region_name": _FIRST_REGION, **attributes, **own})


_places: Final = Places()


def _give_place(version: Any) -> None:
    if not hasattr(version, "kept_at"):
        version.kept_at = _places.next()


def _later_for_keys(unit: Any) -> bool:
    # Whether an object that was read is still there is known after the changes of its name.
    return bool(unit[0] == "key")


def _buckets() -> Iterator[Any]:
    from moto.s3.models import s3_backends

    backend: Any
    for _, _, backend in s3_backends.iter_backends():
        for bucket in (*backend.buckets.values(), *backend.table_buckets.values()):
            # A bucket without identity is that of a sandbox of this process that stores nothing.
            if "kept_as" in vars(bucket):
                yield bucket


def _bucket_key(bucket: Any) -> bytes:
    return _encode(("bucket", bucket.partition, bucket.account_id, bucket.kept_as))


def _settings() -> Iterator[tuple[bytes, bytes]]:
    for bucket in _buckets():
        attributes = {name: value for name, value in vars(bucket).items() if name not in _APART}
        attributes["tags"] = _tagger(bucket).get_tag_dict_for_resource(bucket.arn)
        attributes["class"] = type(bucket).__name__
        yield _bucket_key(bucket), pack(attributes)


def _tagger(bucket: Any) -> Any:
    from moto.s3.models import s3_backends

    return s3_backends[bucket.account_id][bucket.partition].tagger


def _version_key(bucket: Any, version: Any) -> bytes:
    return _encode(("version", bucket.kept_as, version.kept_at))


def _version_value(bucket: Any, version: Any) -> bytes:
    if not hasattr(version, "_value_buffer"):
        attributes = {name: value for name, value in vars(version).items() if name != "key"}
        return pack({**attributes, "marker": True})
    attributes = _attributes_of(version)
    tags = _tagger(bucket).tags.get(version.arn)
    if tags:
        attributes["tags"] = tags
    return pack(attributes)


def _attributes_of(key: Any) -> dict[str, Any]:
    from moto.s3.models import get_canned_acl

    # The class has these two when they are those of this sandbox. The next one may have others.
    attributes = {"account_id": key.account_id, "region_name": key.region_name, **key.attributes()}
    body = attributes.pop("_value_buffer")
    upload = attributes.pop("multipart", None)
    if attributes.get("acl") is get_canned_acl("private"):
        del attributes["acl"]
    attributes["body"] = [[list(piece.id) for piece in body.pieces], body.closed]
    if upload is not None:
        parts = [(number, _attributes_of(part)) for number, part in upload.parts.items()]
        attributes["upload"] = {**_upload_attributes(upload), "partlist": upload.partlist, "parts": parts}
    return attributes


def _upload_attributes(upload: Any) -> dict[str, Any]:
    return {
        name: value for name, value in vars(upload).items() if name not in {"parts", "partlist", "kept_in"}
    }


def _key_changes(key: Any) -> Iterator[Change]:
    """A version that the request has read and may have changed, if it is still there."""
    # A delete marker does not know its bucket, and nothing changes it.
    if not hasattr(key, "bucket_name") or not hasattr(key, "kept_at"):
        return
    bucket = _bucket_of(key)
    if bucket is None:
        return
    if any(version is key for version in bucket.keys.getlist(key.name, [])):
        yield _version_key(bucket, key), _version_value(bucket, key)


def _bucket_of(key: Any) -> Any:
    from moto.s3.models import s3_backends

    place = s3_backends.bucket_accounts.get(key.bucket_name)
    if place is None:
        return None
    backend = s3_backends[place[1]][place[0]]
    return backend.buckets.get(key.bucket_name) or backend.table_buckets.get(key.bucket_name)


def _upload_changes(bucket: Any, upload: Any) -> Iterator[Change]:
    if vars(upload).get("kept_in") is None:
        return
    key = _encode(("upload", bucket.kept_as, upload.id))
    if upload.id in bucket.multiparts:
        yield key, pack(_upload_attributes(upload))
        return
    yield key, None
    for number in upload.parts:
        yield _encode(("part", upload.id, number)), None


def _part_changes(bucket: Any, upload: Any, number: int) -> Iterator[Change]:
    if vars(upload).get("kept_in") is not None and upload.id in bucket.multiparts:
        yield _encode(("part", upload.id, number)), pack(_attributes_of(upload.parts[number]))


def _pieces(buckets: Iterable[Any]) -> Iterator[int]:
    """The numbers of the pieces that anything refers to."""
    for bucket in buckets:
        keys = [version for _, versions in bucket.keys.iterlists() for version in versions]
        for upload in bucket.multiparts.values():
            keys.extend(upload.parts.values())
        for key in keys:
            if (body := getattr(key, "_value_buffer", None)) is not None:
                yield from (piece.id.number for piece in body.pieces)

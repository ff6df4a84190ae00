"""The characters of tags, wherever tags are given or named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from tests.emulator.kinesis.engine_calls import Api

Deed: TypeAlias = Callable[[Api, str], Any]
INVALID = (
    "^InvalidArgumentException: Some tags contain invalid characters. Valid characters: "
    r"Unicode letters, digits, white space, _ . / = \+ - % @ :.$"
)


def registered(api: Api, **more: Any) -> str:
    answer = api("RegisterStreamConsumer", StreamARN=api.arn, ConsumerName="c", **more)
    return str(answer["Consumer"]["ConsumerARN"])


ADDING: dict[str, Deed] = {
    "to a stream": lambda api, text: api("AddTagsToStream", StreamName="s", Tags={text: "v"}),
    "as a value": lambda api, text: api("AddTagsToStream", StreamName="s", Tags={"k": text}),
    "to a resource": lambda api, text: api("TagResource", ResourceARN=api.arn, Tags={text: "v"}),
    "to a consumer": lambda api, text: api("TagResource", ResourceARN=registered(api), Tags={text: "v"}),
    "with a stream": lambda api, text: api.create("t", Tags={text: "v"}),
    "with a consumer": lambda api, text: registered(api, Tags={text: "v"}),
}
REMOVING: dict[str, Deed] = {
    "from a stream": lambda api, text: api("RemoveTagsFromStream", StreamName="s", TagKeys=["k", text]),
    "from a resource": lambda api, text: api("UntagResource", ResourceARN=api.arn, TagKeys=[text]),
    "from a consumer": lambda api, text: api("UntagResource", ResourceARN=registered(api), TagKeys=[text]),
}


def refusal(api: Api, deed: Deed, text: str) -> str:
    with pytest.raises(Exception, match="InvalidArgumentException") as caught:
        deed(api, text)
    return str(caught.value)


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "abc;def", "a,b", "a\u00a0b", "*", "\x00"])
@pytest.mark.parametrize("deed", (ADDING | REMOVING).values(), ids=(ADDING | REMOVING).keys())
def test_characters_that_no_tag_has(api: Api, deed: Deed, text: str) -> None:
    """White space is the blank alone; the words are AWS's."""
    api.create()
    with pytest.raises(Exception, match=INVALID):
        deed(api, text)


@pytest.mark.parametrize(
    ("deed", "what"),
    [(deed, "add tags to") for deed in ADDING.values()]
    + [(deed, "remove tags from") for deed in REMOVING.values()],
    ids=[*ADDING, *REMOVING],
)
def test_a_per_cent_sign_is_named_as_valid_and_refused(api: Api, deed: Deed, what: str) -> None:
    """AWS has two checks, and they differ in this one."""
    api.create()
    words = refusal(api, deed, "c%")
    assert f"Failed to {what} stream " in words
    assert words.endswith(
        "because some tags contained illegal characters. The allowed characters are "
        "Unicode letters, white-spaces, '_',',','/','=','+','-','@',':'."
    )


def test_characters_that_tags_have(api: Api) -> None:
    """Letters of any script with their marks, digits, blanks and the signs that AWS lists."""
    api.create()
    tags = {"ü0 _.": "/=+-@:", "हिन्दी": "日本語", "é" * 3: ""}
    api("AddTagsToStream", StreamName="s", Tags=tags)
    found = api("ListTagsForStream", StreamName="s")["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in found} == tags
    api("RemoveTagsFromStream", StreamName="s", TagKeys=[*tags, "never there"])
    assert api("ListTagsForStream", StreamName="s")["Tags"] == []

"""The integration file: what it can say, and the line that is named where it cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.processing.integration_file import read_integration
from extensions.processing.processing_errors import IntegrationError

ROUTE = '[systems.mno]\n[[routes]]\nservice = "s"\noperation = "o"\n'


def _refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "integration.toml"
    path.write_text(text)
    with pytest.raises(IntegrationError) as refused:
        read_integration(path)
    said = str(refused.value)
    assert "\n" not in said
    return said.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("[", 1, "this is no TOML"),
        ("systems = 1", 1, "systems is 1, where a table belongs"),
        ("\n[route]\n", 2, "no key 'route' (did you mean routes?)"),
        ("[systems.a]\n\nscript = ['never']", 3, "'never' is no answer of an outside system"),
        ("[systems.a]\nscrpt = []", 2, "no key 'scrpt' (did you mean script?)"),
        ("[systems.a]\nscript = 'ok'", 2, "script is 'ok': it is a list"),
        ("routes = 1", 1, "write [[routes]] before each"),
        ("[[routes]]\nservice = 's'\ncalls = []", 1, "there is no operation; give one"),
        (ROUTE + "steps = [3]", 5, "routes.0.steps.0 is 3, where a table belongs"),
        (ROUTE + "calls = ['nobody']", 5, "no system 'nobody'; there are: mno; [systems.NAME] makes one"),
        (ROUTE + "calls = ['mno', 'mno']", 5, "step 1 is the same call"),
        (ROUTE, 2, "s.o has neither calls nor steps"),
        (
            ROUTE + "calls = ['mno']\nsteps = [{do = 'wait'}]",
            2,
            "both calls and steps; write the calls as steps",
        ),
        (
            ROUTE + "calls = ['mno']\n" + ROUTE[14:] + "calls = ['mno']",
            6,
            "s.o has a route already, the 1. here",
        ),
        ("[parameters]\nlease = 5\nlaese = 5", 3, "no key 'laese' (did you mean lease?)"),
        ("[parameters]\nlease = 0", 2, "lease is 0; give some seconds"),
        ("[parameters]\nconsumers = 0", 2, "consumers is 0; give 1 to 100"),
        ("[parameters]\npoll_period = 'x'", 2, "poll_period is 'x': it is a number"),
        ("[parameters]\nfunnel_idle = -1", 2, "funnel_idle is -1.0; it is never below 0"),
        ("[parameters]\nskip_targets = '('", 2, "skip_targets: "),
        ("[parameters.ways]\nobsolete = true", 2, "no key 'obsolete'"),
        ("[parameters.throttling]\nCRM = {count = 1}", 2, "write SOURCE.operation"),
        ("[parameters.throttling]\n'*.*' = {count = 1, interval = 0}", 2, "1 in 0 s is no limit"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, why: str
) -> None:
    """What is wrong, with which value, and what would do, in one line."""
    said = _refused(tmp_path, text)
    assert said.startswith(f":{line}: ")
    assert why in said


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("{}", "there is no do; a step does one of call, funnel, split, keep, remember, wait, fail, end"),
        ("{do = 'cal'}", "do is 'cal' (did you mean call?); a step does one of"),
        ("{do = ['call']}", "do is ['call'] (did you mean call?); a step does"),
        ("{do = 'call'}", "there is no system; give one"),
        ("{do = 'call', system = 'mno', known_by = 'x'}", "it is one of message, entity, custom"),
        ("{do = 'call', system = 'mno', known_by = 'custom'}", "needs one; give it a key"),
        ("{do = 'call', system = 'mno', body = 1}", "no key 'body'"),
        ("{do = 'call', system = 'mno', request = '$.bdy.a'}", "asks for $.bdy; there is $.answer, "),
        ("{do = 'call', system = 'mno', request = '$.answers.crm'}", "there is nothing below it"),
        ("{do = 'call', system = 'mno', request = '$x'}", "'$x' is no path; one is written like $.body"),
        ("{do = 'call', system = 'mno', request = {'$frist' = ['a']}}", "there is no $frist in templates"),
        (
            "{do = 'call', system = 'mno', request = {'$text' = 'a'}}",
            "$text is 'a'; give a list of templates",
        ),
        ("{do = 'call', system = 'mno', request = {'$when' = '$.body'}}", "$when stands with $make"),
        ("{do = 'call', system = 'mno', request = {'$term' = 'a', '$of' = {}}}", "give a table of terms"),
        ("{do = 'funnel'}", "there is no value; give one"),
        ("{do = 'funnel', value = 'a', without_failed = true}", "write in_order = true, or leave it out"),
        ("{do = 'funnel', value = 'a', component = 'c'}", "write in_order = true, or leave it out"),
        ("{do = 'split', children = []}", "give at least one child"),
        (
            "{do = 'split', children = [{service = 's', operation = 'x'}]}",
            "no route is for s.x; there are: s.o",
        ),
        ("{do = 'split', children = [{service = 's', operation = 'o'}]}", "is split into itself for ever"),
        (
            "{do = 'split', children = [{service = 's', operation = 'o', each = 'x'}]}",
            "each is 'x'; give a path, such as $.body.lines",
        ),
        (
            "{do = 'split', children = [{service = 's', operation = 'o', binding = 'FIRM'}]}",
            "it is one of HARD, SOFT",
        ),
        ("{do = 'fail', as = 'fatal', why = 'x'}", "it is one of business, nothing found, several"),
        ("{do = 'fail', as = 'business'}", "there is no why; give one"),
        ("{do = 'end', as = 'failed'}", "it is one of no effect, ok"),
        ("{do = 'end', as = 'ok'}, {do = 'wait'}", "no step behind it is ever reached"),
        ("{do = 'fail', as = 'business', why = 'x'}, {do = 'wait'}", "no step behind it is ever reached"),
        ("{do = 'wait'}, {do = 'wait'}", "step 1 waits already"),
        ("{do = 'keep', value = '$.kpt'}", "asks for $.kpt"),
        ("{do = 'remember', why = '$.message.body'}", "asks for $.message.body; there is $.message.corr"),
        ("{do = 'wait', when = '/body/a = '}", "when: "),
        ("{do = 'wait', when = '/bdy/a = 1'}", "asks for /bdy; there is /answer, "),
        ("{do = 'wait', when = 'true'}", "when: "),
        ("{do = 'wait', when = 1}", "when is 1: it is a text"),
    ],
)
def test_a_step_that_cannot_be_meant_is_refused(tmp_path: Path, step: str, why: str) -> None:
    """Unknown words, names of nothing, contradictions, and steps that would never be reached."""
    said = _refused(tmp_path, ROUTE + f"steps = [{step}]\n")
    assert said.startswith((":5: ", ":2: "))
    assert why in said


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("", "there is no by; a source is told by one of log, http, rdss, topic"),
        ("by = 'htp'", "by is 'htp' (did you mean http?)"),
        ("by = 'http'", "there is no url; give one"),
        ("by = 'log'\nurl = 'http://x'", "no key 'url'; there are: ends, retries, interval"),
        ("by = 'http'\nurl = 'ftp://x/'", "'ftp://x/' is no URL that can be called; write http://HOST:PORT"),
        ("by = 'http'\nurl = 'http:///x'", "is no URL that can be called"),
        ("by = 'http'\nurl = 'http://x:99999/'", "is no URL that can be called"),
        ("by = 'http'\nurl = 'http://x/'\nmethod = 'GET'", "it is one of PATCH, POST, PUT"),
        ("by = 'http'\nurl = 'http://x/'\nheaders = {'a b' = 'c'}", "is no header of HTTP"),
        ("by = 'http'\nurl = 'http://x/'\nheaders = {a = \"b\\r\\nc: d\"}", "is no header of HTTP"),
        ("by = 'http'\nurl = 'http://x/'\ntimeout = 31", "timeout is 31: it is 30.0 at most"),
        ("by = 'http'\nurl = 'http://x/'\nbody = {a = '$.reslt'}", "asks for $.reslt; there is $.body, "),
        ("by = 'log'\nretries = -1", "retries is -1: it is 0 at least"),
        ("by = 'log'\nends = ['OK', 'LOST']", "it is one of CANCEL, FAILED, OK, SKIPPED"),
        ("by = 'topic'\ntopic = 'a b'", "'a b' is no topic"),
        ("by = 'rdss'\nstream = 'a/b'", "'a/b' is no stream"),
        ("by = 'log'\n[confirm.CRM]\nby = 'log'", "CRM is declared already"),
    ],
)
def test_a_way_to_tell_that_cannot_be_meant_is_refused(tmp_path: Path, way: str, why: str) -> None:
    """Who is told how, with the line of the table or of what is wrong in it."""
    said = _refused(tmp_path, f"\n[confirm.crm]\n{way}\n")
    number = int(said.split(":")[1])
    assert number in range(2, 2 + len(way.splitlines()) + 1)
    assert why in said


def test_a_file_that_is_not_there_or_no_text_says_so(tmp_path: Path) -> None:
    """Its name, and why it cannot be read."""
    with pytest.raises(IntegrationError, match=r"gone\.toml cannot be read: No such file"):
        read_integration(tmp_path / "gone.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(IntegrationError, match=r"bytes\.toml cannot be read: it is not text"):
        read_integration(tmp_path / "bytes.toml")


def test_an_object_id_is_a_json_pointer(tmp_path: Path) -> None:
    """What is none is refused with its line and an example."""
    path = tmp_path / "integration.toml"
    path.write_text(
        '[systems.a]\n[[routes]]\nservice = "s"\noperation = "o"\nobject_id = "$.id"\ncalls = ["a"]\n'
    )
    with pytest.raises(
        IntegrationError, match=r"toml:5: .*'\$\.id' is no JSON Pointer \(RFC 6901\), such as"
    ):
        read_integration(path)


def test_what_may_look_contradictory_and_is_not(tmp_path: Path) -> None:
    """One system twice with a key or either way; a split into the own route that ends some time."""
    path = tmp_path / "integration.toml"
    path.write_text(
        ROUTE
        + """
[[routes.steps]]
do = "call"
system = "mno"
[[routes.steps]]
do = "call"
system = "mno"
key = "again"
[[routes.steps]]
do = "split"
when = "/body/parts IS NOT NULL"
children = [{service = "s", operation = "o", each = "$.body.parts", body = "$.anything"}]
[[routes.steps]]
do = "end"
as = "no effect"
when = "/answers/mno IS NULL"
"""
    )
    assert len(read_integration(path).routes[0].steps) == 4

"""Where a setting comes from, and what is said of one that cannot be used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import DEFAULT_TOPOLOGY, read_settings
from tests.taken_out import needs


def test_defaults_are_those_of_the_documentation(tmp_path: Path) -> None:
    """Nothing given: the well-known ports on loopback, the RDSS topology, a drawn seed, data in .sandbox."""
    settings = read_settings({}, {}, tmp_path)

    assert (settings.host, settings.aws_port, settings.control_port, settings.amqp_port) == (
        "127.0.0.1",
        4566,
        4570,
        5672,
    )
    assert settings.topology == DEFAULT_TOPOLOGY
    assert settings.data_dir == tmp_path / ".sandbox" / "data"
    assert settings.amqp is None
    assert settings.token is None
    assert settings.seed != read_settings({}, {}, tmp_path).seed


def test_an_option_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    """The nearer to the command, the stronger."""
    (tmp_path / "sandbox.toml").write_text("[sandbox]\naws_port = 1\ncontrol_port = 1\nseed = 1\n")
    environment = {"SANDBOX_AWS_PORT": "2", "SANDBOX_CONTROL_PORT": "2", "SANDBOX_FSYNC": "true"}

    settings = read_settings({"aws_port": 3, "control_port": None}, environment, tmp_path)

    assert (settings.aws_port, settings.control_port, settings.seed, settings.fsync) == (3, 2, 1, True)


def test_the_region_is_the_one_that_clients_of_the_environment_use(tmp_path: Path) -> None:
    """AWS_REGION, then AWS_DEFAULT_REGION, unless a region is given."""
    environment = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "eu-west-2"}

    assert read_settings({}, environment, tmp_path).region == "eu-west-2"
    assert read_settings({}, {"AWS_DEFAULT_REGION": "eu-west-1"}, tmp_path).region == "eu-west-1"
    assert read_settings({"region": "eu-north-1"}, environment, tmp_path).region == "eu-north-1"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("two.yaml", "streams: {requests: 3, replies: 1}\nbuckets: [kept]\n"),
        ("two.json", '{"streams": {"requests": 3, "replies": 1}, "buckets": ["kept"]}'),
        ("two.toml", 'buckets = ["kept"]\n[streams]\nrequests = 3\nreplies = 1\n'),
    ],
)
def test_a_topology_is_read_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    """YAML, JSON and TOML say the same thing."""
    (tmp_path / name).write_text(text)

    topology = read_settings({"topology": name}, {}, tmp_path).topology

    assert topology.streams == {"requests": 3, "replies": 1}
    assert topology.buckets == ("kept",)
    assert topology.audit is None


def test_a_topology_can_be_written_into_the_settings_file(tmp_path: Path) -> None:
    """[sandbox.topology] needs no second file."""
    (tmp_path / "sandbox.toml").write_text("[sandbox.topology.streams]\nrequests = 2\n")

    assert read_settings({}, {}, tmp_path).topology.streams == {"requests": 2}


def test_beyond_loopback_there_is_always_a_token(tmp_path: Path) -> None:
    """Whoever can reach the machine must not drive the sandbox just because of that."""
    assert read_settings({"host": "0.0.0.0"}, {}, tmp_path).token
    assert read_settings({"host": "0.0.0.0", "token": "mine"}, {}, tmp_path).token == "mine"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"aws_port": 70000}, "aws_port is 70000"),
        ({"aws_port": "many"}, "aws_port"),
        ({"limits": "lax"}, "limits"),
        ({"topology": "nowhere.yaml"}, "no topology 'nowhere.yaml'"),
        ({"colour": "blue"}, "colour"),
        ({"amqp": "off"}, "--amqp: amqp is 'off': give none, and nothing answers on the AMQP port"),
        ({"amqp": "mine"}, "amqp is 'mine': it is one of embedded, none, server"),
        ({"region": 5}, "region is 5: it is a text"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    """The message tells which setting it is and what it was."""
    with pytest.raises(SettingsError, match=said):
        read_settings(options, {}, tmp_path)


@needs("processing", "topics")
def test_files_of_extensions_are_as_other_settings(tmp_path: Path) -> None:
    """Seen from the directory of the sandbox; an empty variable is none."""
    (tmp_path / "sandbox.toml").write_text('[sandbox]\ntopics = "t.yaml"\n')
    settings = read_settings({"integration": "i.yaml"}, {}, tmp_path)
    assert settings.find("topics") == tmp_path / "t.yaml"
    assert settings.find("integration") == tmp_path / "i.yaml"
    (tmp_path / "sandbox.toml").unlink()
    assert read_settings({}, {"SANDBOX_TOPICS": ""}, tmp_path).find("topics") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.yaml", "streams: {a: 0}"),
        ("t.yaml", "streams: ["),
        ("t.json", '{"strems": {}}'),
        ("t.toml", "streams = "),
    ],
)
def test_a_bad_topology_file_is_named(tmp_path: Path, name: str, text: str) -> None:
    """No traceback: the file, and what is wrong in it."""
    (tmp_path / name).write_text(text)

    with pytest.raises(SettingsError, match=name):
        read_settings({"topology": name}, {}, tmp_path)


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    """The file that cannot be read is in the message."""
    (tmp_path / "sandbox.toml").write_text("[sandbox")

    with pytest.raises(SettingsError, match=r"sandbox\.toml"):
        read_settings({}, {}, tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("awsport = 3", "1: awsport is in no table (did you mean aws_port under [sandbox]?)"),
        (
            "[sandbox]\nseed = 1\n[sandbx]\nseed = 2",
            "3: there is no table [sandbx] (did you mean [sandbox]?)",
        ),
        (
            "[[fault]]\ntype = 'latency'",
            "1: there is no table [fault] (did you mean faults under [sandbox]?)",
        ),
        (
            "\n[emulator]\naws_port = 3",
            "2: there is no table [emulator]; the tables are [sandbox], [gateway]",
        ),
        ("[sandbox]\nawsport = 3", "2: there is no key 'awsport' (did you mean aws_port?)"),
        ("[sandbox]\naws_port = 'abc'", "2: aws_port is 'abc': it is a whole number"),
        ("[sandbox]\nseed =\n", " cannot be read: Invalid value (at line 2, "),
        ("[sandbox]\nseed = ", " cannot be read: Invalid value (at line 2, the last)"),
    ],
)
def test_a_slip_in_the_settings_file_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """And with the name that was meant: a sandbox on other settings than those written down misleads."""
    (tmp_path / "sandbox.toml").write_text(text)

    with pytest.raises(
        SettingsError, match=re.escape(f"sandbox.toml{':' if said[0].isdigit() else ''}{said}")
    ):
        read_settings({}, {}, tmp_path)


def test_faults_can_be_written_in_the_configuration(tmp_path: Path) -> None:
    """As a request to the control API has them: tables in the file, JSON in the environment, which wins."""
    (tmp_path / "sandbox.toml").write_text(
        '[[sandbox.faults]]\ntype = "latency"\nchannel = "input"\nattributes = {delay = "2s"}\n'
        '[[sandbox.faults]]\ntype = "duplicate"\ntoxicity = 0.1\nwhen = {every = 3}\n'
    )

    first, second = read_settings({}, {}, tmp_path).faults
    assert (first.type, first.channel, first.attributes) == ("latency", "input", {"delay": "2s"})
    assert (second.type, second.toxicity, second.when) == ("duplicate", 0.1, {"every": 3})
    environment = {"SANDBOX_FAULTS": '[{"type": "corrupt"}]'}
    assert [fault.type for fault in read_settings({}, environment, tmp_path).faults] == ["corrupt"]


@pytest.mark.parametrize(
    ("text", "why"), [("[", "not JSON"), ('[{"type": "corrupt", "how": 1}]', "there is no key 'how'")]
)
def test_faults_that_cannot_be_read_are_refused(tmp_path: Path, text: str, why: str) -> None:
    """With what is wrong about them."""
    with pytest.raises(SettingsError, match=why):
        read_settings({}, {"SANDBOX_FAULTS": text}, tmp_path)


FILE = """\
# how this project's sandbox starts
[sandbox]
seed = 1

[[sandbox.faults]]
type = "latency"
name = '''
slow
'''

[[sandbox.faults]]
type = "duplicate"
%s

[sandbox.topology]
%s
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[sandbox]\nseed = 1\n\nawsport = 4566\n",
            r"toml:4: there is no key 'awsport' \(did you mean aws_port\?\); there are: profile, .*, faults",
        ),
        (
            "[sandbox]\naws_port = 'many'\n",
            r"sandbox\.toml:2: aws_port is 'many': it is a whole number$",
        ),
        ("\nsandbox.aws_port = 70000\n", r"sandbox\.toml:2: aws_port is 70000; a port is 0"),
        ("[sandbox]\nlimits = 'lax'\n", r"sandbox\.toml:2: limits is 'lax'"),
        ("[sandbox]\ntopology = 'nowhere.yaml'\n", r"sandbox\.toml:2: no topology 'nowhere\.yaml'"),
        ("[sandbox]\nallowed_hosts = [\n  'a',\n  5,\n]\n", r"sandbox\.toml:2: allowed_hosts\.1 is 5"),
        (
            FILE % ("toxicty = 0.1", ""),
            r"sandbox\.toml:13: there is no key 'toxicty' \(did you mean toxicity\?\); there are: type",
        ),
        (FILE % ("toxicity = 'all'", ""), r"sandbox\.toml:13: faults\.1\.toxicity is 'all': it is a number"),
        (
            FILE % ("", "streams = {a = 'x'}"),
            r"sandbox\.toml:16: a value in topology\.streams: it is a whole number",
        ),
        ("[[sandbox.faults]]\nchannel = 'a'\n", r"sandbox\.toml:1: faults\.0 has no type; give one"),
        (
            FILE % ("", "strems = {}"),
            r"sandbox\.toml:16: there is no key 'strems' \(did you mean streams",
        ),
        ("[sandbox]\nseed = \n", r"sandbox\.toml cannot be read: .*line 2"),
    ],
)
def test_a_bad_line_of_the_file_is_named_with_what_would_do(tmp_path: Path, text: str, said: str) -> None:
    """File, line, the key, its value, and the keys that there are; also in nested tables and long values."""
    (tmp_path / "sandbox.toml").write_text(text)

    with pytest.raises(SettingsError, match=said):
        read_settings({}, {}, tmp_path)


def test_a_bad_variable_is_named_as_it_is_set(tmp_path: Path) -> None:
    """Not as the file or the option would call it; the file below it is not blamed."""
    (tmp_path / "sandbox.toml").write_text("[sandbox]\naws_port = 1\n")

    with pytest.raises(SettingsError, match=r"^SANDBOX_AWS_PORT in the environment: aws_port is 'many'"):
        read_settings({}, {"SANDBOX_AWS_PORT": "many"}, tmp_path)
    with pytest.raises(SettingsError, match=r"^--aws-port: aws_port is 70000"):
        read_settings({"aws_port": 70000}, {"SANDBOX_AWS_PORT": "1"}, tmp_path)


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        ({"allowed_origins": ("x",)}, {}, r"^--allow-origin: 'x' is no origin"),
        ({"retention": "week"}, {}, r"^--retention: retention: 'week' is not a length of time"),
        ({}, {"SANDBOX_RETENTION": "week"}, r"^SANDBOX_RETENTION in the environment: retention: 'week'"),
        ({}, {"SANDBOX_TOPOLOGY": "no.toml"}, r"^SANDBOX_TOPOLOGY in the environment: no topology 'no.toml'"),
    ],
)
def test_a_bad_value_is_named_as_it_was_given(
    tmp_path: Path, options: dict[str, object], environment: dict[str, str], said: str
) -> None:
    """By the option's own name, which is not always the setting's, or by the variable's."""
    with pytest.raises(SettingsError, match=said):
        read_settings(options, environment, tmp_path)


def test_empty_variables_of_the_stack_are_as_none(tmp_path: Path) -> None:
    """compose.yaml hands on what nobody gave as an empty text."""
    names = ("TOKEN", "REGION", "ALLOWED_ORIGINS")
    settings = read_settings({}, {f"SANDBOX_{name}": "" for name in names}, tmp_path)
    assert (settings.token, settings.region) == (None, "us-east-1")
    assert settings.allowed_origins == ()


def test_files_are_seen_from_the_directory_of_the_sandbox(tmp_path: Path) -> None:
    """Wherever the process was started."""
    (tmp_path / "sandbox.toml").write_text('[sandbox]\ndata_dir = "kept"\n')
    assert read_settings({}, {}, tmp_path).data_dir == tmp_path / "kept"
    assert read_settings({"data_dir": ":memory:"}, {}, tmp_path).data_dir is None

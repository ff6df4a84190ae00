from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.installed_extensions import list_ports
from sandbox.cli.environment.doors import describe_doors
from sandbox.cli.environment.env_command import list_trust_lines
from sandbox.cli.options.contract import bind
from sandbox.cli.options.setting_options import arguments, setting_options
from sandbox.cli.options.waiting import timeout_option
from sandbox.profiles.profile_table import PROFILES, load

if TYPE_CHECKING:
    from sandbox.profiles.running import Running


@click.command()
@setting_options
@click.option("--detach", is_flag=True, help="Return once it is ready, and leave it running.")
@timeout_option("With --detach: give up when it is not ready after this long: 30s, 5m.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object when ready.")
def up(detach: bool, timeout: float | None, as_json: bool, **options: Any) -> None:
    """Start a sandbox: streams, buckets, faults and the control API.

    It runs until Ctrl-C, or with --detach (and always with --profile compose) until sandbox down. Every
    option can also be given as SANDBOX_<NAME> in the environment, or under [sandbox] in sandbox.toml:
    see docs/settings.md. Exit code 4: with --detach, it was not ready before the timeout.
    """
    from emulator.settings.settings import read_settings
    from sandbox.profiles import in_process

    given = {name: value for name, value in options.items() if value not in (None, ())}
    settings = read_settings(given, os.environ)
    bind(settings.contract)
    profile = PROFILES[settings.profile]
    if detach and profile.stays:
        _show(in_process.start_detached(arguments(given), seconds=timeout or profile.seconds), as_json)
    else:
        in_process.refuse_second()
        load(settings.profile)(settings, lambda running: _show(running, as_json))


def _show(running: Running, as_json: bool) -> None:
    for line in running.damage:
        click.echo(f"sandbox: {line}", err=True)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(running))
        return
    click.echo(_frame("RDSS sandbox", _summary(running).splitlines()), err=True)
    # The line to paste stands outside of the frame.
    trust = list_trust_lines(running)
    told = (*(f"note: {note}" for note in running.notes), "", running.exports, "")
    for line in (*told, *(("With TLS, by client (sandbox env):", *trust, "") if trust else ()), *_NEXT):
        click.echo(line, err=True)


def _frame(title: str, lines: list[str]) -> str:
    width = max(map(len, lines))
    top = f" {title} ".center(width + 2, "─")
    return "\n".join([f"╭{top}╮", *(f"│ {line:<{width}} │" for line in lines), f"╰{'─' * (width + 2)}╯"])


_NEXT = (
    "next:  sandbox message sample | sandbox send -",
    "       sandbox fault add duplicate --toxicity 0.5",
    "       sandbox status      sandbox tui      sandbox watch      sandbox down",
)


def _summary(running: Running) -> str:
    lines = [
        f"AWS      {running.aws}   (Kinesis, S3, DynamoDB, SQS, SNS, ...)",
        f"control  {running.control}   (GET /openapi.json)",
        f"data     {running.data_dir}",
        f"seed     {running.seed}",
    ]
    known = dict(list_ports())
    for name, url in reversed(running.ports.items()):
        lines.insert(2, f"{name:<8} {url}" + (f"   ({known[name].help})" if name in known else ""))
    if running.amqp:
        lines.insert(1, f"AMQP     {running.amqp}")
    if running.amqp_management:
        lines.insert(2, f"         {running.amqp_management}/api/   (its management, as RabbitMQ's)")
    if running.token:
        lines.insert(2, f"token    {running.token}   (export SANDBOX_TOKEN=... elsewhere)")
    if running.doors:
        lines.append(f"open to  {describe_doors(running.doors)}")
    return "\n".join(lines)

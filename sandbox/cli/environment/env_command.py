"""``sandbox env``, and the lines by which clients trust the authority of a sandbox."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from sandbox.cli.options.control_connection import find_started
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from sandbox.profiles.running import Running


@click.command()
@json_option
def env(*, as_json: bool) -> None:
    """Print what points clients at the sandbox started here: eval "$(sandbox env)".

    These are the variables of AWS's SDKs. With TLS, comments have the lines for clients that read none.
    """
    found = find_started()
    if as_json:
        print_json(found.variables)
        return
    click.echo("\n".join((found.exports, *(f"# {line}" for line in list_trust_lines(found)))))


def list_trust_lines(running: Running) -> list[str]:
    """What each client needs to trust the sandbox's certificate; [] where that is nothing."""
    if running.trust is None:
        return []
    file, host = shlex.quote(running.trust), urlsplit(running.amqp or running.aws).hostname
    store = f"-alias sandbox -file {file} -keystore sandbox.p12 -storetype PKCS12 -storepass changeit"
    context = f"ssl.create_default_context(cafile={running.trust!r})"
    return [
        "boto3, the AWS CLI, Go, Ruby: AWS_CA_BUNDLE. JavaScript: NODE_EXTRA_CA_CERTS.",
        f"pika: parameters.ssl_options = pika.SSLOptions({context}, {host!r})",
        f"httpx: httpx.Client(verify={context})",
        f"curl: curl --cacert {file} {running.control}/health",
        f"Java: keytool -importcert -noprompt {store}",
        "      java -Djavax.net.ssl.trustStore=sandbox.p12 -Djavax.net.ssl.trustStorePassword=changeit ...",
    ]

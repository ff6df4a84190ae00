"""Clients that other people wrote, each with a start script of a few lines, and how it is certified."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tests.real_clients import install
from tests.real_clients.test_kcl import java

PROGRAMS: Final = Path(__file__).parent / "programs"
_CACHE: Final = install.HOME / "certificates"


class Certified(NamedTuple):
    """A client: ``library`` is its name and version, ``command`` installs it and returns how it is started.

    ``kind`` is its role and its channel, such as ``consumer of kinesis``. ``found`` is what its certificate shows, in a fair sentence; ``options`` are those of ``sandbox certify``.
    """

    name: str
    library: str
    language: str
    kind: str
    command: Callable[[], list[str]]
    found: str
    options: tuple[str, ...] = ()

    @property
    def role(self) -> str:
        return self.kind.split(" of ")[0]

    @property
    def channel(self) -> str:
        return self.kind.split(" of ")[1]


def _python(environment: str, program: str, *requirements: str) -> list[str]:
    programs = install.python_environment(environment, *requirements)
    return [str(programs / "python"), str(PROGRAMS / program)]


def _celery(program: str) -> list[str]:
    return _python("celery", program, install.CELERY)


def _node(folder: str, program: str, *packages: str) -> list[str]:
    modules = install.node_packages(folder, *packages)
    return ["env", f"NODE_PATH={modules}", shutil.which("node") or "node", str(PROGRAMS / program)]


def _kcl(mode: str) -> list[str]:
    programs = install.python_environment("kcl", install.KCL)
    (jars,) = programs.parent.glob("lib/python3*/site-packages/amazon_kclpy/jars")
    python = str(programs / "python")
    return [python, str(PROGRAMS / "kcl_sample.py"), mode, java(), str(jars), python]


def _go() -> list[str]:
    program = _CACHE / "amqp091"
    command = install.python_environment("go", install.GO)
    source = install.debian_files("go-amqp", "golang-github-rabbitmq-amqp091-go-dev")
    environment = {"GO111MODULE": "off", "GOPATH": f"{source / 'usr/share/gocode'}", "CGO_ENABLED": "0"}
    settings = [f"{name}={value}" for name, value in environment.items()]
    cache = f"GOCACHE={install.HOME / 'go-cache'}"
    build = [str(command / "go"), "build", "-o", str(program), str(PROGRAMS / "amqp091.go")]
    subprocess.run(["env", *settings, cache, "GOTOOLCHAIN=local", *build], check=True)
    return [str(program)]


def _java_amqp() -> list[str]:
    files = install.debian_files("java-amqp", "librabbitmq-client-java", "libslf4j-java")
    jars = f"{files / 'usr/share/java'}/*"
    classes = _CACHE / "java"
    compiler = ["javac", "-cp", jars, "-d", str(classes), str(PROGRAMS / "Worker.java")]
    subprocess.run(compiler, check=True)
    return [java(), "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{jars}", "Worker"]


def _ruby() -> list[str]:
    packages = ("ruby3.1", "libruby3.1", "ruby-bunny", "ruby-amq-protocol", "ruby-sorted-set")
    files = install.debian_files("ruby", *packages, "ruby-rbtree", "libyaml-0-2", "libgmp10")
    libraries = files / "usr/lib/x86_64-linux-gnu"
    folders = [
        *sorted((files / "usr/share/rubygems-integration/all/gems").glob("*/lib")),
        files / "usr/lib/ruby/3.1.0",
        libraries / "ruby/3.1.0",
        files / "usr/lib/ruby/vendor_ruby",
        libraries / "ruby/vendor_ruby/3.1.0",
    ]
    environment = [f"LD_LIBRARY_PATH={libraries}", f"RUBYLIB={':'.join(map(str, folders))}"]
    options = ["--disable-gems", str(PROGRAMS / "bunny_tutorial.rb")]
    return ["env", *environment, str(files / "usr/bin/ruby3.1"), *options]


def _php() -> list[str]:
    packages = ("php8.2-cli", "php8.2-common", "php8.2-mbstring", "php-amqplib", "php-phpseclib3")
    libraries = ("libonig5", "libargon2-1", "libsodium23", "libxml2", "libpcre2-8-0", "libicu72")
    files = install.debian_files("php", *packages, "php-constant-time", "php-random-compat", *libraries)
    extensions = next((files / "usr/lib/php").glob("2*"))
    settings = [f"extension_dir={extensions}", "extension=mbstring", "extension=sockets"]
    paths = f"include_path={files / 'usr/share/php'}"
    options = [word for each in (*settings, paths) for word in ("-d", each)]
    library = files / "usr/lib/x86_64-linux-gnu"
    started = [str(files / "usr/bin/php8.2"), "-n", *options, str(PROGRAMS / "php_amqplib.php")]
    return ["env", f"LD_LIBRARY_PATH={library}", *started]


_PATIENT: Final = ("--patience", "60s")
_JS_MANAGER: Final = ("amqp-connection-manager@5.0.0", "amqplib@2.3.1")
_BOTO3: Final = "boto3==1.44.5"


CLIENTS: Final = (
    Certified(
        "async-kinesis",
        "async-kinesis 3.0.1",
        "Python",
        "consumer of kinesis",
        partial(_python, "async-kinesis", "async_kinesis_consumer.py", "async-kinesis==3.0.1"),
        "Without a checkpointer, as the README begins, each start reads everything again; children of a split were not read in the patience.",
    ),
    Certified(
        "boto3-guide",
        "boto3 1.44.5",
        "Python",
        "consumer of kinesis",
        partial(_python, "boto3", "boto3_guide.py", _BOTO3),
        "It reads the first shard alone, as fast as it can, and a refusal that outlasts boto3's own tries ends it.",
    ),
    Certified(
        "lifion-kinesis",
        "lifion-kinesis 1.3.3",
        "JavaScript",
        "consumer of kinesis",
        partial(_node, "lifion-kinesis", "lifion_kinesis.cjs", "lifion-kinesis@1.3.3"),
        "It reads every shard, and keeps its checkpoint before it delivers: a SIGKILL loses what was in hand.",
        _PATIENT,
    ),
    Certified(
        "kcl-polling",
        "KCL 3.1.3, polling",
        "Java",
        "consumer of kinesis",
        partial(_kcl, "POLLING"),
        "It loses nothing; the sample checkpoints once a minute, and a kill has what came since reported again.",
        _PATIENT,
    ),
    Certified(
        "kcl-fan-out",
        "KCL 3.1.3, fan-out",
        "Java",
        "consumer of kinesis",
        partial(_kcl, "FANOUT"),
        "It loses nothing; the sample checkpoints once a minute, and a kill has what came since reported again.",
        _PATIENT,
    ),
    Certified(
        "async-kinesis-producer",
        "async-kinesis 3.0.1",
        "Python",
        "producer of kinesis",
        partial(_python, "async-kinesis", "async_kinesis_producer.py", "async-kinesis==3.0.1"),
        "It loses nothing and puts failed entries again; its pauses do not grow, and the script keeps no list of what it sent.",
    ),
    Certified(
        "kiner",
        "kiner 0.8.0",
        "Python",
        "producer of kinesis",
        partial(_python, "kiner", "kiner_producer.py", "kiner==0.8.0", _BOTO3),
        "It puts failed entries again, longer and longer apart; the script keeps no list of what it sent.",
    ),
    Certified(
        "boto3-put-record",
        "boto3 1.44.5",
        "Python",
        "producer of kinesis",
        partial(_python, "boto3", "boto3_put_record.py", _BOTO3),
        "When boto3's own tries are used up the script ends, and it begins the file anew each time.",
    ),
    Certified(
        "pika",
        "pika 1.4.4",
        "Python",
        "consumer of rabbitmq",
        partial(_python, "pika", "pika_tutorial.py", "pika==1.4.4"),
        "The blocking connection ends with a cut, and JSON that cannot be read comes again at each start.",
    ),
    Certified(
        "aio-pika",
        "aio-pika 10.2.1",
        "Python",
        "consumer of rabbitmq",
        partial(_python, "aio-pika", "aio_pika_consumer.py", install.AIO_PIKA),
        "It connects again by itself, but an ack on the closed channel ends the loop; poison is rejected by process(), and ends it too.",
    ),
    Certified(
        "kombu",
        "kombu 5.7.0",
        "Python",
        "consumer of rabbitmq",
        partial(_celery, "kombu_consumer.py"),
        "ConsumerMixin connects again by itself; an exception in the callback ends the worker, and the poison comes again.",
    ),
    Certified(
        "celery",
        "celery 5.7.0",
        "Python",
        "consumer of rabbitmq",
        partial(_celery, "celery_consumer.py"),
        "A ConsumerStep's channel has no prefetch limit, and poison ends the worker.",
    ),
    Certified(
        "amqpstorm",
        "AMQPStorm 3.1.4",
        "Python",
        "consumer of rabbitmq",
        partial(_python, "amqpstorm", "amqpstorm_consumer.py", "amqpstorm==3.1.4"),
        "It does not consume again after the connection was cut, as the README's loop has no way back.",
    ),
    Certified(
        "amqplib",
        "amqplib 2.3.1",
        "JavaScript",
        "consumer of rabbitmq",
        partial(_node, "amqplib", "amqplib_tutorial.cjs", *install.AMQPLIB),
        "The library does not connect again, and poison is an exception that ends the process.",
    ),
    Certified(
        "amqp-connection-manager",
        "amqp-connection-manager 5.0.0",
        "JavaScript",
        "consumer of rabbitmq",
        partial(_node, "amqp-connection-manager", "amqp_connection_manager.cjs", *_JS_MANAGER),
        "It connects again by itself, for ever: the poison that its callback throws at comes back each time.",
    ),
    Certified(
        "bunny",
        "Bunny 2.19.0",
        "Ruby",
        "consumer of rabbitmq",
        _ruby,
        "Poison stays unacknowledged, and with a prefetch of 1 nothing comes behind it until a new start.",
    ),
    Certified(
        "php-amqplib",
        "php-amqplib 3.5.3",
        "PHP",
        "consumer of rabbitmq",
        _php,
        "What is no JSON becomes null in PHP, and is acknowledged and lost; a cut ends the script.",
    ),
    Certified(
        "amqp091-go",
        "amqp091-go 1.5.0",
        "Go",
        "consumer of rabbitmq",
        _go,
        "The library does not connect again: its channel of deliveries ends, and so does the program.",
    ),
    Certified(
        "java-client",
        "RabbitMQ Java client 5.0.0",
        "Java",
        "consumer of rabbitmq",
        _java_amqp,
        "It recovers a cut connection by itself, but not a channel that the broker closed: it consumes no more.",
    ),
    Certified(
        "pika-producer",
        "pika 1.4.4",
        "Python",
        "producer of rabbitmq",
        partial(_python, "pika", "pika_confirms.py", "pika==1.4.4"),
        "The messages of the documentation's example are transient, and a nack is an exception that ends it, until nobody starts it any more.",
    ),
    Certified(
        "aio-pika-producer",
        "aio-pika 10.2.1",
        "Python",
        "producer of rabbitmq",
        partial(_python, "aio-pika", "aio_pika_producer.py", install.AIO_PIKA),
        "A returned message is taken for sent (on_return_raises is off), messages are transient, and a nack ends the script, until nobody starts it any more.",
    ),
    Certified(
        "kombu-producer",
        "kombu 5.7.0",
        "Python",
        "producer of rabbitmq",
        partial(_celery, "kombu_producer.py"),
        "It publishes persistently and again after a nack; an error that closes the channel ends the script.",
    ),
)

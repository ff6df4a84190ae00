"""The source installed by itself: its folder, what that says it needs, and nothing else of this project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from extensions import kinesis_source
from sandbox.pipeline.spark import java
from tests.sandbox.pipeline.workload import Endpoint

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FOLDER = Path(kinesis_source.__file__).parent
_PAGE = Path(__file__).parents[3] / "docs/kinesis-source.md"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages: the source as pip installs it, and what its metadata requires, as it is here."""
    place = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, "--target", place, FOLDER], check=True)
    (own,) = place.glob("spark_kinesis_source-*.dist-info")
    for needed in _requirements(Distribution.at(own), set()).values():
        for top in {
            file.parts[0] for file in needed.files or () if file.parts[0] not in {"..", "__pycache__"}
        }:
            if not (place / top).exists():
                (place / top).symlink_to(needed.locate_file(top))
    return place


def _requirements(package: Distribution, extras: set[str]) -> dict[str, Distribution]:
    """The packages that one needs, and that those need, as far as they are installed here."""
    from packaging.requirements import Requirement

    found: dict[str, Distribution] = {}
    for text in package.requires or ():
        need = Requirement(text)
        if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            continue
        try:
            needed = distribution(need.name)
        except PackageNotFoundError:
            continue
        if need.name not in found:
            found[need.name] = needed
            found |= _requirements(needed, set(need.extras))
    return found


def test_the_first_job_of_its_page_runs_with_nothing_else_installed(
    endpoint: Endpoint, site: Path, tmp_path: Path
) -> None:
    """The ten lines read five records, each once, in a Python that has no other package of ours."""
    endpoint.client("kinesis").create_stream(StreamName="input", ShardCount=2)
    endpoint.put("input", [b"%d" % number for number in range(5)])
    job = re.search(r"```python\n(from pyspark.sql.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert job
    (tmp_path / "job.py").write_text(
        "import importlib.util\n"
        "others = ('sandbox', 'emulator', 'schemas', 'rdss_sandbox')\n"
        "assert not any(importlib.util.find_spec(name) for name in others)\n"
        + job[1].replace("extensions.kinesis_source", "kinesis_source")
        + 'print(sorted(row.text for row in spark.read.parquet("records").collect()))\n'
    )
    # Without site, an interpreter sees no packages but those of PYTHONPATH; so do Spark's workers.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    environment = {
        "PATH": os.environ["PATH"], "JAVA_HOME": str(java.require().home), "PYTHONPATH": str(site),
        "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(site / "pyspark"), "AWS_ENDPOINT_URL": endpoint.url, "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "HOME": str(tmp_path),
    }  # fmt: skip
    ran = subprocess.run(
        [python, "job.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.splitlines()[-1] == str([str(number) for number in range(5)])

"""The chart as Helm renders it: ``python rendered_chart.py CHART VALUES [KUBERNETES]...``.

Run in the environment that has Helm, which tests/real_clients/install.py makes. It lints the chart with these
values, holds what comes of them to the strict schemas of these versions of Kubernetes, and prints it as
JSON. A refusal is one line on standard error.
"""

import json
import sys

import helm_python
import kubernetes_validate
import yaml


def main() -> int:
    """Print the manifests by kind, a second one with its name behind it, and the notes as ``Notes``."""
    chart, values, versions = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
    try:
        with helm_python.Chart.load(chart) as loaded:
            loaded.validate_schema(values)
            rendered = loaded.render(values, name="pr-123", namespace="team")
        wrong = helm_python.lint(chart, values, strict=True)["errors"]
    except helm_python.HelmError as error:
        wrong = [str(error)]
    if wrong:
        sys.stderr.write(" ".join(" ".join(wrong).split()) + "\n")
        return 1
    found = {}
    for name, text in rendered.items():
        if name.endswith(".txt"):
            found["Notes"] = text
            continue
        for manifest in filter(None, yaml.safe_load_all(text)):
            kind = manifest["kind"]
            found[f"{kind} {manifest['metadata']['name']}" if kind in found else kind] = manifest
            for version in versions:
                kubernetes_validate.validate(manifest, version, strict=True)
    sys.stdout.write(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())

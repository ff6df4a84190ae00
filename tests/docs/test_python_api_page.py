"""The page of the Python API has what the package offers."""

from __future__ import annotations

import rdss_sandbox
from rdss_sandbox import testing
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import list_endpoints
from tests.docs.python_api_page import PAGE, page


def test_the_page_is_made_of_signatures_and_docstrings() -> None:
    """When this fails: python -m tests.docs.python_api_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_exported_name_and_every_method_of_the_client_is_there() -> None:
    """Not only what the page's maker knows today."""
    text = PAGE.read_text(encoding="utf-8")
    for name in (*rdss_sandbox.__all__, *testing.__all__):
        assert f"### {name}\n" in text or f"[`{name}`](control-api.md#" in text, name
    for subject in SUBJECTS:
        for endpoint in list_endpoints(subject):
            assert f"| `.{endpoint.name}(" in text, endpoint.name

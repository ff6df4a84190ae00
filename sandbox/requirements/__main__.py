"""``python -m sandbox.requirements > docs/requirements.md`` writes the page anew."""

import sys

from sandbox.requirements.page import page

sys.stdout.write(page())

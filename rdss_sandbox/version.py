"""The version of the project. The build reads it from here too."""

from typing import Final

VERSION: Final = "0.2.0"

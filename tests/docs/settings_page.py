"""The page of the settings, made of their declarations: ``python -m tests.docs.settings_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.settings.declarations import DeclaredSetting, declared
from emulator.settings.settings import shapes
from sandbox.gateway import GatewaySettings

PAGE: Final = Path(__file__).parents[2] / "docs/settings.md"

_TEXT: Final = """\
# Settings

An option of `sandbox up` wins over the environment, which wins over `sandbox.toml` in the directory of the
sandbox, which wins over the default. A value that cannot be used is refused at the start, with the line or
the variable where it stands.

<!-- made of the declarations: python -m tests.docs.settings_page -->

## sandbox

Keys under `[sandbox]`. In the environment each is `SANDBOX_` and its name in capitals: `SANDBOX_AWS_PORT`.
Several names are separated by commas there, `faults` and `access` are JSON; in the file they are lists. An
option of several names is given again for each.

| setting | option | default | | in the profiles |
|---|---|---|---|---|
{sandbox}

## gateway

Keys under `[gateway]`, for `read_gateway_settings`: see [the gateway](gateway.md). In the environment each is
`SANDBOX_GATEWAY_` and its name in capitals: `SANDBOX_GATEWAY_QUEUE`.

| setting | values | default | |
|---|---|---|---|
{gateway}
"""


def page() -> str:
    """The page as it should be."""
    return _TEXT.format(sandbox="\n".join(_sandbox()), gateway="\n".join(_gateway()))


def of_sandbox() -> dict[str, DeclaredSetting]:
    """Every setting of the table ``[sandbox]`` by its name, those of extensions last."""
    return {name: each for shape in shapes() for name, each in declared(shape).items()}


def _sandbox() -> Iterator[str]:
    for name, each in of_sandbox().items():
        written = f" {each.setting.metavar}" if each.setting.metavar else ""
        option = _code(f"{each.option}{written or _choices(each)}") if each.option else ""
        applies = each.setting.applies or "all"
        yield _row(
            _code(name),
            option,
            each.told or ("no" if each.type is bool else "none"),
            each.setting.help,
            applies,
        )


def _gateway() -> Iterator[str]:
    for name, each in declared(GatewaySettings).items():
        kind = {str: "text", int: "whole number", float: "number"}.get(each.type, "")
        values = ", ".join(map(_code, each.choices)) or kind
        yield _row(_code(name), values, _code(each.told), each.setting.help)


def _choices(each: DeclaredSetting) -> str:
    return f" {'|'.join(each.choices)}" if each.choices else ""


def _code(text: str) -> str:
    return f"`{text}`"


def _row(*cells: str) -> str:
    return "| {} |".format(" | ".join(cell.replace("|", r"\|") for cell in cells))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

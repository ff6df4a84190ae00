"""Functions of AWS Lambda: what they add to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension

EXTENSION: Final = Extension(
    name="functions",
    component="extensions.functions.component:FunctionComponent",
    settings="extensions.functions.settings:FunctionSettings",
    commands=(
        Command(
            "lambda",
            "extensions.functions.command_line:lambda_",
            "Run a function of a file on what comes to a stream or a queue.",
        ),
        Command(
            "certify handler",
            "extensions.functions.verdict.handler_command:handler_",
            "Certify a handler of AWS Lambda.",
        ),
    ),
    clauses=tuple(
        f"extensions.functions.verdict.handler_clauses:{name}"
        for name in (
            "answers_after_the_effect",
            "reports_poison",
            "gives_up_poison_alone",
            "survives_time_outs",
            "keeps_the_order",
        )
    ),
    lessons="extensions.functions.lessons",
    faults=tuple(
        f"extensions.functions.fault_types:{name}" for name in ("TIMEOUT", "FUNCTION_ERROR", "COLD_START")
    ),
    rules=tuple(
        f"extensions.functions.handler_rules:{name}"
        for name in ("SWALLOWED", "REPEATED", "TIMED_OUT", "WINDOW")
    ),
    files=("functions.log", "function-mappings.log", "function-events.log", "stacks.log"),
    held={
        "functions.log": "the functions with their code, versions and aliases",
        "function-mappings.log": "the event source mappings, and how far each had read",
        "function-events.log": "the events that functions were still to be invoked with",
        "stacks.log": "the stacks of CloudFormation, with what each has made",
    },
)

"""Brings stacks about: creates, updates and deletes their resources in order, and undoes what fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Scope
from emulator.rng import new_uuid
from extensions.functions.stacks.intrinsic_functions import Resolver, sort_resources
from extensions.functions.stacks.resource_maker import (
    ResourceFailedError,
    ResourceMaker,
    StoppingError,
    make_up_name,
)
from extensions.functions.stacks.resource_types import TYPES
from extensions.functions.stacks.stack import (
    BadStackError,
    Draft,
    Stack,
    StackEvent,
    StackResource,
)
from extensions.functions.stacks.stack_store import StackStore
from extensions.functions.stacks.stack_template import Template, read_parameters, read_template

_STACK: Final = "AWS::CloudFormation::Stack"
_UNKNOWN: Final = "{{changeSet:KNOWN_AFTER_APPLY}}"
"""What a change set shows for what is only known when it is executed."""
_PATIENCE_SECONDS: Final = 10
_LATER: Final = 0.001
_REPLACED: Final = "Requested update requires the creation of a new physical resource; hence creating one."
_RETAINED: Final = ("Retain", "Snapshot")


class StackDeployment:
    """Works at each stack on a thread of its own, until ``stopping`` is set. ``failed`` tells of a bug."""

    def __init__(
        self,
        store: StackStore,
        maker: ResourceMaker,
        *,
        clock: Clock,
        events: Events,
        stopping: threading.Event,
        failed: Callable[[Exception], None],
    ) -> None:
        self._store = store
        self._maker = maker
        self._clock = clock
        self._events = events
        self._stopping = stopping
        self._failed = failed
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Go on with every stack that is on its way."""
        for stack in self._store.list_in():
            if stack.status.endswith("_IN_PROGRESS") and stack.status != "REVIEW_IN_PROGRESS":
                self._begin(stack)

    def stop(self) -> None:
        """Wait for the threads, which end where ``stopping`` is set, but for a call that hangs."""
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)

    def deploy(self, stack: Stack, draft: Draft) -> None:
        """Begin to create or update a stack by a draft. Raises OSError."""
        with self._store.lock:
            kind = "CREATE" if stack.status in {"", "REVIEW_IN_PROGRESS"} else "UPDATE"
            if kind == "UPDATE":
                stack.updated = self._clock.time()
                # One that failed, and was left so, goes back to what was before that.
                stack.former = stack.former or stack.draft
            stack.draft = draft
            stack.before = stack.before or {
                name: msgspec.structs.replace(each) for name, each in stack.resources.items()
            }
            stack.change_sets = {}
            stack.description = str(read_template(draft.processed).get("Description", ""))
            self.begin(stack, f"{kind}_IN_PROGRESS")

    def begin(self, stack: Stack, status: str) -> None:
        """Begin what a status in progress says. Raises OSError."""
        self.mark(stack, status, "User Initiated")
        self._begin(stack)

    def mark(self, stack: Stack, status: str, reason: str = "") -> None:
        """Note a stack's status. Raises OSError, and StoppingError for a stack that was replaced."""
        with self._store.lock:
            stack.status, stack.reason = status, reason
            self._note(stack, StackResource(_STACK, {}, status, reason, stack.id), stack.name)
        self._events.emit("stack.changed", stack=stack.name, status=status, why=reason)

    def fetch_parameter(self, scope: Scope, name: str) -> str:
        """The value of a parameter of SSM. Raises BadStackError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            found: str = self._maker.client("ssm", scope).get_parameter(Name=name)["Parameter"]["Value"]
        except (BotoCoreError, ClientError) as error:
            where = "from parameter store for this account"
            raise BadStackError(f"Unable to fetch parameters [{name}] {where}.") from error
        return found

    def resolver(self, stack: Stack, draft: Draft, template: Template, *, unknown: str = "") -> Resolver:
        """What gives values to a template. Raises BadStackError for a parameter that SSM has not."""
        parameters = read_parameters(
            template, draft.parameters, lambda name: self.fetch_parameter(stack.scope, name)
        )

        def find(name: str) -> str | None:
            found = self._store.find_export(stack.scope, name)
            return found[0] if found else None

        return Resolver(template, stack, parameters, find, unknown=unknown)

    def preview(self, stack: Stack, draft: Draft) -> list[dict[str, Any]]:
        """The changes of a draft, as AWS describes them. Raises BadStackError and ResourceFailedError."""
        there = msgspec.structs.replace(stack)
        template = read_template(draft.processed)
        resolver = self.resolver(there, draft, template, unknown=_UNKNOWN)
        wanted = self._wanted(template, resolver)
        changes = []
        for logical in wanted:
            old, definition = stack.resources.get(logical), template["Resources"][logical]
            properties = _resolve_properties(definition, resolver)
            step = _compare(old, definition["Type"], properties)
            if step == "Replace":
                there.resources = {name: each for name, each in there.resources.items() if name != logical}
            if step == "Add":
                changes.append(_change("Add", logical, StackResource(definition["Type"])))
            elif step and old is not None:
                replacement = {"Replacement": "True" if step == "Replace" else "False"}
                changes.append(_change("Modify", logical, old, **replacement, Scope=["Properties"]))
        gone = (name for name in stack.resources if name not in wanted)
        return [*changes, *(_change("Remove", name, stack.resources[name]) for name in gone)]

    def _begin(self, stack: Stack) -> None:
        self._threads = [each for each in self._threads if each.is_alive()]
        thread = threading.Thread(target=self._work, args=(stack,), name=f"stack {stack.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self, stack: Stack) -> None:
        try:
            if stack.status == "DELETE_IN_PROGRESS":
                self._delete(stack)
            elif "ROLLBACK" in stack.status:
                self._roll_back(stack)
            elif "CLEANUP" in stack.status:
                self._clean_up(stack)
            else:
                self._bring_about(stack)
        except StoppingError:
            pass
        except Exception as error:  # noqa: BLE001 -- the thread's end: the stack says so, and the events why
            self._failed(error)
            self.mark(stack, stack.status.replace("_IN_PROGRESS", "_FAILED"), f"Internal Failure: {error}")

    def _bring_about(self, stack: Stack) -> None:
        kind = stack.status.partition("_")[0]
        template = read_template(stack.draft.processed)
        wrong = ""
        try:
            resolver = self.resolver(stack, stack.draft, template)
            wanted = self._wanted(template, resolver)
            for logical in wanted:
                wrong = f"The following resource(s) failed to {kind.lower()}: [{logical}]."
                self._make(stack, logical, template["Resources"][logical], resolver)
            wrong = ""
            outputs = list(self._list_outputs(stack, template, resolver))
        except (ResourceFailedError, BadStackError) as error:
            self._give_up(stack, kind, wrong or str(error))
            return
        stack.outputs = outputs
        stack.resources = {each: stack.resources[each] for each in wanted}
        if kind == "UPDATE":
            self.mark(stack, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        self._clean_up(stack)

    def _wanted(self, template: Template, resolver: Resolver) -> list[str]:
        resources = template["Resources"]
        return [each for each in sort_resources(template) if resolver.is_wanted(resources[each])]

    def _make(self, stack: Stack, logical: str, definition: Mapping[str, Any], resolver: Resolver) -> None:
        """Create or update a resource, where it is not as it should be. Raises ResourceFailedError."""
        old = stack.resources.get(logical)
        old = old if old and old.physical else None
        doing = "UPDATE" if logical in stack.before else "CREATE"
        now = old or StackResource(definition["Type"])
        # A new mapping each time: who reads one goes on reading it.
        stack.resources = {**stack.resources, logical: now}
        with self._told(stack, logical, now, doing):
            step, resource = self._plan(stack, logical, definition, old, resolver)
        if not step:
            return
        why = _REPLACED if step == "Replace" else ""
        stack.resources = {**stack.resources, logical: resource}
        self._mark_resource(stack, logical, resource, f"{doing}_IN_PROGRESS", why)
        with self._told(stack, logical, resource, doing):
            if step == "Modify":
                before = stack.before.get(logical)
                self._maker.update(stack, resource, before.properties if before else {})
            else:
                self._maker.create(stack, resource, lambda: self._keep(stack))
        self._mark_resource(stack, logical, resource, f"{doing}_COMPLETE")

    def _plan(
        self,
        stack: Stack,
        logical: str,
        definition: Mapping[str, Any],
        old: StackResource | None,
        resolver: Resolver,
    ) -> tuple[str, StackResource]:
        """What is to be done for a resource, as ``_compare`` says it, and the resource as it is to be.

        Raises ResourceFailedError and BadStackError.
        """
        kind = TYPES[definition["Type"]]
        properties = _resolve_properties(definition, resolver)
        step = _compare(old, definition["Type"], properties)
        if kind.named and kind.named not in properties:
            keeps = old is not None and step != "Replace"
            name = old.properties[kind.named] if old and keeps else make_up_name(stack, logical, kind)
            properties = {**properties, kind.named: name}
        self._maker.check(stack, logical, kind, properties)
        made = StackResource(definition["Type"])
        if old is not None and step != "Replace":
            made = msgspec.structs.replace(old)
        elif old is not None and kind.named and properties[kind.named] == old.properties[kind.named]:
            text = "CloudFormation cannot update a stack when a custom-named resource requires replacing."
            raise ResourceFailedError(f"{text} Rename {old.physical} and update the stack again.")
        made.properties = properties
        made.deletion_policy = definition.get("DeletionPolicy", "Delete")
        made.replace_policy = definition.get("UpdateReplacePolicy", "Delete")
        return step, made

    def _list_outputs(self, stack: Stack, template: Template, resolver: Resolver) -> Iterator[dict[str, str]]:
        for name, output in template.get("Outputs", {}).items():
            if not resolver.is_wanted(output):
                continue
            shown = {"OutputKey": name, "OutputValue": str(resolver.resolve(output.get("Value", "")))}
            if "Description" in output:
                shown["Description"] = str(output["Description"])
            export = output.get("Export")
            if isinstance(export, dict) and (export := str(resolver.resolve(export.get("Name", "")))):
                shown["ExportName"] = export
                taken = self._store.find_export(stack.scope, export, but=stack.id)
                if taken is not None:
                    raise BadStackError(f"Export with name {export} is already exported by stack {taken[1]}.")
            yield shown

    def _give_up(self, stack: Stack, kind: str, why: str) -> None:
        if stack.draft.on_failure == "DO_NOTHING":
            self.mark(stack, f"{kind}_FAILED", why)
        elif stack.draft.on_failure == "DELETE" and kind == "CREATE":
            self.mark(stack, "DELETE_IN_PROGRESS", f"{why} Delete requested by user.")
            self._delete(stack)
        else:
            self.mark(stack, undoing(stack), f"{why} Rollback requested by user.")
            self._roll_back(stack)

    def _roll_back(self, stack: Stack) -> None:
        """Have everything as it was before, or nothing where there was nothing."""
        kind = stack.status.partition("ROLLBACK")[0]
        kept = {(each.type, each.physical) for each in stack.before.values()}
        failed = []
        for logical, now in reversed(tuple(stack.resources.items())):
            old = stack.before.get(logical)
            if (now.type, now.physical) not in kept:
                if not self._remove(stack, logical, now, retained=now.deletion_policy in _RETAINED):
                    failed.append(logical)
            elif old is not None and (old.properties != now.properties or now.status.endswith("_FAILED")):
                with suppress(ResourceFailedError), self._told(stack, logical, old, "UPDATE"):
                    self._mark_resource(stack, logical, old, "UPDATE_IN_PROGRESS")
                    self._maker.update(stack, old, now.properties)
                    self._mark_resource(stack, logical, old, "UPDATE_COMPLETE")
                if old.status == "UPDATE_FAILED":
                    failed.append(logical)
        if failed:
            names = ", ".join(failed)
            self.mark(
                stack, f"{kind}ROLLBACK_FAILED", f"The following resource(s) failed to delete: [{names}]."
            )
            return
        stack.resources, stack.before = stack.before, {}
        stack.draft, stack.former = stack.former or stack.draft, None
        self.mark(stack, f"{kind}ROLLBACK_COMPLETE")

    def _clean_up(self, stack: Stack) -> None:
        """Remove what a change has replaced or left out. What cannot be removed is left, as in AWS."""
        used = {(each.type, each.physical) for each in stack.resources.values()}
        for logical, old in reversed(tuple(stack.before.items())):
            if (old.type, old.physical) not in used:
                policy = old.replace_policy if logical in stack.resources else old.deletion_policy
                self._remove(stack, logical, old, retained=policy in _RETAINED)
        stack.before, stack.former = {}, None
        self.mark(stack, f"{stack.status.partition('_')[0]}_COMPLETE")

    def _delete(self, stack: Stack) -> None:
        failed = []
        for logical, resource in reversed(tuple(stack.resources.items())):
            retained = resource.deletion_policy in (*_RETAINED, "RetainExceptOnCreate")
            if self._remove(stack, logical, resource, retained=retained):
                stack.resources = {name: each for name, each in stack.resources.items() if name != logical}
            else:
                failed.append(logical)
        if failed:
            names = ", ".join(failed)
            self.mark(stack, "DELETE_FAILED", f"The following resource(s) failed to delete: [{names}]. ")
            return
        stack.deleted = self._clock.time()
        self.mark(stack, "DELETE_COMPLETE")

    def _remove(self, stack: Stack, logical: str, resource: StackResource, *, retained: bool) -> bool:
        """Delete what was made for a resource, unless it is retained. Whether that went well."""
        if not resource.physical:
            return True
        if retained:
            self._mark_resource(stack, logical, resource, "DELETE_SKIPPED")
            return True
        with suppress(ResourceFailedError), self._told(stack, logical, resource, "DELETE"):
            self._mark_resource(stack, logical, resource, "DELETE_IN_PROGRESS")
            self._maker.delete(stack, resource)
            self._mark_resource(stack, logical, resource, "DELETE_COMPLETE")
        return resource.status == "DELETE_COMPLETE"

    @contextmanager
    def _told(self, stack: Stack, logical: str, resource: StackResource, doing: str) -> Iterator[None]:
        """Note why a resource failed. Raises ResourceFailedError."""
        try:
            yield
        except (ResourceFailedError, BadStackError) as error:
            self._mark_resource(stack, logical, resource, f"{doing}_FAILED", str(error))
            raise ResourceFailedError(str(error)) from error

    def _mark_resource(
        self, stack: Stack, logical: str, resource: StackResource, status: str, reason: str = ""
    ) -> None:
        with self._store.lock:
            resource.status, resource.reason = status, reason
            self._note(stack, resource, logical)

    def _keep(self, stack: Stack) -> None:
        """Store a stack as it is. Raises OSError, and StoppingError for one that was replaced."""
        with self._store.lock:
            if self._stopping.is_set() or (len(stack.events) > 1 and not self._store.has(stack)):
                raise StoppingError
            self._store.put(stack, self._clock.time())

    def _note(self, stack: Stack, resource: StackResource, logical: str) -> None:
        # Clients tell what they have seen by its time, which a frozen clock does not move on.
        last = stack.events[-1].time if stack.events else 0.0
        resource.changed = max(self._clock.time(), last + _LATER)
        event = StackEvent(
            new_uuid(),
            resource.changed,
            logical,
            resource.physical,
            resource.type,
            resource.status,
            resource.reason,
            json.dumps(resource.properties) if resource.properties else "",
        )
        stack.events.append(event)
        self._keep(stack)


def _change(action: str, logical: str, resource: StackResource, **more: Any) -> dict[str, Any]:
    made = {"PhysicalResourceId": resource.physical} if resource.physical else {}
    named = {"Action": action, "LogicalResourceId": logical, "ResourceType": resource.type}
    return {"Type": "Resource", "ResourceChange": {**named, **made, **more}}


def undoing(stack: Stack) -> str:
    """The status of a stack whose change is undone."""
    return "ROLLBACK_IN_PROGRESS" if stack.status.startswith("CREATE") else "UPDATE_ROLLBACK_IN_PROGRESS"


def _resolve_properties(definition: Mapping[str, Any], resolver: Resolver) -> dict[str, Any]:
    """Raises ResourceFailedError where they are none, and BadStackError."""
    found = resolver.resolve(definition.get("Properties", {}))
    if not isinstance(found, dict):
        raise ResourceFailedError(f"Properties are no object: {json.dumps(found)}")
    return found


def _compare(old: StackResource | None, type_: str, properties: Mapping[str, Any]) -> str:
    """``Add``, ``Replace``, ``Modify``, or "" for a resource that is to have these properties.

    Raises ResourceFailedError where it had another type.
    """
    if old is None:
        return "Add"
    if old.type != type_:
        raise ResourceFailedError("Update of resource type is not permitted. The new template modifies it.")
    kind = TYPES[type_]
    names = old.properties.keys() | properties.keys()
    changed = {each for each in names if old.properties.get(each) != properties.get(each)}
    if kind.named not in properties:
        changed.discard(kind.named)
    if not changed and old.status.endswith("_COMPLETE"):
        return ""
    is_other = kind.replaces is None or changed & {kind.named, *kind.replaces.split()}
    return "Replace" if changed and is_other else "Modify"

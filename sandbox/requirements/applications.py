"""What the specification demands of applications: when to publish, what to do with what comes, and files."""

from __future__ import annotations

from typing import Final

from sandbox.requirements.requirement import Requirement

_OVER_EVERY_QUEUE: Final = "sandbox/gateway/test_over_every_queue.py"
_REPOSITORY: Final = "sandbox/applications/test_institutional_repository.py"
_PRESERVATION: Final = "sandbox/applications/test_preservation_system.py"
_VISIBILITY: Final = (
    "sandbox/gateway/test_metadata.py::test_what_is_published_of_a_change_is_settled_by_who_may_see_it"
)
_WHOLE: Final = f"{_OVER_EVERY_QUEUE}::test_an_update_is_a_new_version_and_whole"
_TRIGGERS: Final = ("sandbox/gateway/metadata.py", "sandbox/gateway/visibility.py")

APPLICATIONS: Final = (
    Requirement(
        "Metadata Create",
        "A MetadataCreate Message MUST be sent",
        "A new work is published with a MetadataCreate.",
        _TRIGGERS,
        (
            _VISIBILITY,
            f"{_OVER_EVERY_QUEUE}::test_a_created_work_is_published_under_an_object_uuid_of_its_own",
        ),
    ),
    Requirement(
        "Metadata Create",
        "Messages SHOULD only be sent for works",
        "Only works that the public may see are published.",
        _TRIGGERS,
        (_VISIBILITY,),
        "Confidential is a work whose every accessType is closed.",
    ),
    Requirement(
        "Metadata Update",
        "A MetadataUpdate Message MUST be sent",
        "A modified work is published with a MetadataUpdate.",
        _TRIGGERS,
        (_VISIBILITY, _WHOLE),
    ),
    Requirement(
        "Metadata Update",
        "MUST include the entire digital object",
        "An update carries the whole object.",
        ("sandbox/gateway/metadata.py",),
        (_WHOLE,),
    ),
    Requirement(
        "Metadata Update",
        "it MUST NOT include only the changed",
        "An update of changed fields alone is not sent.",
        ("sandbox/gateway/metadata.py",),
        (_WHOLE,),
        "Neither sent nor taken: what lacks a mandatory field of its type is no whole object, GENERR001.",
    ),
    Requirement(
        "Metadata Update",
        "consumers of the Message SHOULD NOT have received",
        "A work that becomes public is a create, since nobody has heard of it.",
        _TRIGGERS,
        (_VISIBILITY,),
        "A work that becomes confidential is a delete, by Metadata Delete.",
    ),
    Requirement(
        "Metadata Delete",
        "A MetadataDelete Message MUST be sent",
        "A work that is removed, or hidden, is published with a MetadataDelete.",
        _TRIGGERS,
        (
            _VISIBILITY,
            f"{_OVER_EVERY_QUEUE}::test_a_delete_and_a_preservation_event_are_sent_and_forgotten",
        ),
    ),
    Requirement(
        "Messaging Receiving",
        "messaging system MUST exhibit when",
        "Consumers behave as their kind of application is to.",
        ("sandbox/applications",),
        (
            f"{_REPOSITORY}::test_what_it_did_is_told_once_it_is_done",
            f"{_PRESERVATION}::test_an_object_is_packaged_with_its_files",
        ),
    ),
    Requirement(
        "Institutional Repositories",
        "an institutional repository MUST either create",
        "A repository creates a work, or updates the one that it has.",
        ("sandbox/applications/institutional_repository.py",),
        (
            f"{_REPOSITORY}::test_a_create_makes_a_work_with_all_of_its_metadata",
            f"{_REPOSITORY}::test_an_update_is_the_new_version_of_the_work",
            "sandbox/applications/test_versions_in_any_order.py::test_any_order_ends_the_same",
        ),
        "An update is of the version that it names with isNewVersionOf; with none that is known it is "
        "APPERRMET001. An older version that is published again, as isPreviousVersionOf, is filed as one.",
    ),
    Requirement(
        "Institutional Repositories",
        "a work or item MUST still be created",
        "A work is created without files as well.",
        ("sandbox/applications/institutional_repository.py",),
        (f"{_REPOSITORY}::test_a_create_makes_a_work_with_all_of_its_metadata",),
    ),
    Requirement(
        "Institutional Repositories",
        "repository MUST remove the visibility",
        "A deleted work is hidden from regular users.",
        ("sandbox/applications/institutional_repository.py",),
        (
            f"{_REPOSITORY}::test_a_delete_hides_the_work_with_all_its_versions",
            f"{_REPOSITORY}::test_a_hidden_object_is_not_read",
        ),
    ),
    Requirement(
        "Institutional Repositories",
        "it is RECOMMENDED that",
        "What is deleted is removed altogether, where that is feasible.",
        ("sandbox/applications/institutional_repository.py",),
        (f"{_REPOSITORY}::test_a_delete_hides_the_work_with_all_its_versions",),
        "Not followed, as the specification allows: what a demonstration deleted can still be looked at.",
    ),
    Requirement(
        "Preservation Systems",
        "a preservation system MUST generate",
        "A preservation system packages the metadata with the files.",
        ("sandbox/applications/preservation_system.py", "sandbox/applications/package.py"),
        (
            f"{_PRESERVATION}::test_an_object_is_packaged_with_its_files",
            f"{_PRESERVATION}::test_a_new_version_is_a_package_of_its_own",
        ),
    ),
    Requirement(
        "Preservation Systems",
        "payloads SHOULD be ignored",
        "A preservation system removes nothing on a delete, and may flag it.",
        ("sandbox/applications/preservation_system.py",),
        (f"{_PRESERVATION}::test_a_delete_only_flags_the_package",),
    ),
    Requirement(
        "File Download Behaviour",
        "that consumers MUST adopt when",
        "Consumers fetch files as described.",
        ("sandbox/download",),
        (
            "sandbox/download/test_https.py::test_a_file_over_https_with_a_private_authority",
            "sandbox/download/test_s3.py::test_a_file_from_s3_is_resumed_by_range",
        ),
    ),
    Requirement(
        "File Download Behaviour",
        "Consumers MUST expect",
        "Large files are handled.",
        ("sandbox/download/partial.py", "sandbox/applications/package.py"),
        (
            "sandbox/download/test_https.py::test_a_slow_server_only_takes_longer",
            "sandbox/download/test_https.py::test_a_cut_download_goes_on_where_it_was_cut",
        ),
        "A file goes to disk as it comes and is never held in memory.",
    ),
    Requirement(
        "File Download Behaviour",
        "during download MUST be able",
        "The staging area has room for the file.",
        ("sandbox/download/download.py",),
        ("sandbox/download/test_https.py::test_space_is_checked_before_anything_is_asked_for",),
    ),
    Requirement(
        "File Download Behaviour",
        "Consumers MUST implement a mechanism",
        "A download that was interrupted goes on where it was.",
        ("sandbox/download/download.py", "sandbox/download/partial.py"),
        (
            "sandbox/download/test_https.py::test_another_process_resumes_what_one_left",
            "sandbox/download/test_s3.py::test_a_file_from_s3_is_resumed_by_range",
        ),
    ),
    Requirement(
        "File Download Behaviour",
        "applications MUST validate certificates",
        "Certificates are validated, those of a given authority too.",
        ("sandbox/download/https.py",),
        ("sandbox/download/test_https.py::test_a_certificate_that_cannot_be_trusted_is_refused_at_once",),
    ),
    Requirement(
        "File Download Behaviour",
        "the file MUST be validated against",
        "What was fetched has the checksums that the metadata gives.",
        ("sandbox/download/download.py",),
        (
            "sandbox/download/test_https.py::test_a_wrong_checksum_is_apperrmet004_and_leaves_no_file",
            "sandbox/download/test_https.py::test_every_checksum_counts",
        ),
    ),
    Requirement(
        "File Download Behaviour",
        "Consumers SHOULD implement an exponential backoff",
        "Downloads are begun and resumed with growing delays.",
        ("sandbox/download/download.py",),
        ("sandbox/download/test_https.py::test_ten_retries_with_growing_delays_then_generr006",),
    ),
)

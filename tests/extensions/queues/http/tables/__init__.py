"""What each version of the messaging API answers to what."""

from tests.extensions.queues.http.tables.v1 import V1
from tests.extensions.queues.http.tables.v1_1 import V1_1
from tests.extensions.queues.http.tables.v2 import V2

TABLES = {"v1": V1, "v1.1": V1_1, "v2": V2}

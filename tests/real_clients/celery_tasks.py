"""Tasks of Celery over the broker that AMQP_URL names; their results come back by the same broker."""

import os
import sys
from typing import Any

from celery import Celery

app = Celery("tasks", broker=os.environ["AMQP_URL"], backend="rpc://")
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)


@app.task
def add(x: int, y: int) -> int:
    return x + y


@app.task(bind=True, max_retries=2, default_retry_delay=0)
def fails_once(self: Any) -> int:
    if not self.request.retries:
        raise self.retry()
    retries: int = self.request.retries
    return retries


if __name__ == "__main__":
    from celery.contrib.testing.worker import start_worker

    # Ten seconds for the worker's end are too few beside other tests.
    with start_worker(app, perform_ping_check=False, pool="solo", shutdown_timeout=60):
        sys.stdout.write(f"{add.delay(2, 3).get(timeout=60)} {fails_once.delay().get(timeout=60)}")

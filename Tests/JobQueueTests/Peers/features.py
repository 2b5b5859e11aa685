"""A BullMQ client for the tests of administration, schedulers and events: one command per run, its answer as one line of JSON.

Usage: features.py URL PREFIX QUEUE COMMAND [ARGUMENT as JSON]
"""

import asyncio
import inspect
import json
import sys

import redis.asyncio
from bullmq import FlowProducer, Job, Queue, QueueEvents, Worker

URL, PREFIX, NAME, COMMAND = sys.argv[1:5]
ARGUMENT = json.loads(sys.argv[5]) if len(sys.argv) > 5 else None


def options():
    # The default socket timeout of redis-py 8 would cut off a blocking wait.
    connection = redis.asyncio.Redis.from_url(URL, decode_responses=True, socket_timeout=None)
    return {"connection": connection, "prefix": PREFIX}


def plain(value):
    """What JSON can say of an answer: a job is its id."""
    if isinstance(value, Job):
        return value.id
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


async def call(queue):
    """Calls methods {job?, method, arguments?}, one after the other, of the queue or of a job, and answers their results."""
    results = []
    for step in ARGUMENT:
        target = await Job.fromId(queue, step["job"]) if "job" in step else queue
        try:
            result = getattr(target, step["method"])(*step.get("arguments", []))
            results.append(plain(await result if inspect.isawaitable(result) else result))
        except Exception as error:
            results.append({"error": str(error)})
    return results


async def tree(queue):
    """Adds a flow and answers the parent's id."""
    producer = FlowProducer(options()["connection"], {"prefix": PREFIX})
    added = await producer.add(ARGUMENT)
    await producer.close()
    return added["job"].id


async def events(queue):
    """All events from the beginning until the one named `until` came `times` times, as [name, fields]."""
    ended = asyncio.Event()
    seen = []
    left = ARGUMENT.get("times", 1)
    reader = QueueEvents(NAME, {**options(), "lastEventId": "0", "autorun": False, "blockingTimeout": 500})

    def listen(name):
        def handle(*arguments):
            nonlocal left
            seen.append([name, plain(arguments[0]) if arguments else None])
            if name == ARGUMENT["until"]:
                left -= 1
                if left == 0:
                    ended.set()

        reader.on(name, handle)

    names = ["added", "waiting", "active", "progress", "completed", "failed", "delayed", "drained", "removed", "paused"]
    for name in [*names, "resumed", "cleaned", "deduplicated", "duplicated", "stalled", "waiting-children"]:
        listen(name)
    running = asyncio.ensure_future(reader.run())
    try:
        await asyncio.wait_for(ended.wait(), 20)
    finally:
        running.cancel()
    return seen


async def work(queue):
    """Runs jobs until `count` ended, and answers {id, data, count of the scheduler's runs} of each. `fail` names jobs to fail."""
    ended = asyncio.Event()
    seen = []

    async def process(job, token):
        if job.name in ARGUMENT.get("fail", []):
            raise RuntimeError("as asked")
        return job.name

    def on_end(job, *_):
        seen.append({"id": job.id, "data": job.data, "run": (job.opts.get("repeat") or {}).get("count")})
        if len(seen) >= ARGUMENT["count"]:
            ended.set()

    worker = Worker(NAME, process, {**options(), "concurrency": ARGUMENT.get("concurrency", 1)})
    worker.on("completed", on_end)
    worker.on("failed", on_end)
    try:
        await asyncio.wait_for(ended.wait(), 20)
    finally:
        # It may wait for its blocking call.
        await asyncio.wait([asyncio.ensure_future(worker.close())], timeout=3)
    return seen


async def main():
    queue = Queue(NAME, options())
    answer = await globals()[COMMAND](queue)
    print(json.dumps(answer), flush=True)
    await asyncio.wait([asyncio.ensure_future(queue.close())], timeout=2)


asyncio.run(asyncio.wait_for(main(), 60))

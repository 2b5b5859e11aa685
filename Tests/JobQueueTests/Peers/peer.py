"""A BullMQ client for the tests: one command per run, its answer as one line of JSON.

Usage: peer.py URL PREFIX QUEUE COMMAND [ARGUMENT as JSON]
"""

import asyncio
import json
import sys

import redis.asyncio
from bullmq import FlowProducer, Job, Queue, Worker

URL, PREFIX, NAME, COMMAND = sys.argv[1:5]
ARGUMENT = json.loads(sys.argv[5]) if len(sys.argv) > 5 else None


def connection():
    # The default socket timeout of redis-py 8 would cut off the blocking wait of a worker.
    return redis.asyncio.Redis.from_url(URL, decode_responses=True, socket_timeout=None)


def options():
    return {"connection": connection(), "prefix": PREFIX}


async def end(worker):
    """Closes a worker. Under load that now and then never ends; what it did counts all the same."""
    try:
        await asyncio.wait_for(worker.close(), 5)
    except asyncio.TimeoutError:
        pass


async def add(queue):
    """Adds [[name, data, opts], ...] one by one and answers their ids."""
    return [(await queue.add(name, data, opts)).id for name, data, opts in ARGUMENT]


async def add_bulk(queue):
    """Adds them in one go."""
    jobs = await queue.addBulk([{"name": name, "data": data, "opts": opts} for name, data, opts in ARGUMENT])
    return [job.id for job in jobs]


async def flow(queue):
    """Adds a parent with two children, all in the same queue, and answers the parent's id."""
    producer = FlowProducer(connection(), {"prefix": PREFIX})
    child = {"name": "child", "queueName": NAME, "data": {}, "opts": ARGUMENT or {}}
    tree = await producer.add({"name": "parent", "queueName": NAME, "data": {}, "children": [child, child]})
    await producer.close()
    return tree["job"].id


async def children(queue):
    """What the peer reads of a parent's children."""
    parent = await Job.fromId(queue, ARGUMENT)
    return list((await parent.getChildrenValues()).values())


async def counts(queue):
    names = ["wait", "paused", "active", "prioritized", "delayed", "completed", "failed", "waiting-children"]
    return await queue.getJobCounts(*names)


async def pause(queue):
    await queue.pause()


async def resume(queue):
    await queue.resume()


async def job(queue):
    """What the peer reads of a job."""
    found = await Job.fromId(queue, ARGUMENT)
    if found is None:
        return None
    return {
        "name": found.name,
        "data": found.data,
        "opts": found.opts,
        "state": await queue.getJobState(ARGUMENT),
        "returnvalue": found.returnvalue,
        "failedReason": found.failedReason,
        "stacktrace": found.stacktrace,
        "attemptsMade": found.attemptsMade,
        "attemptsStarted": getattr(found, "attemptsStarted", None),
        "timestamp": found.timestamp,
        "processedOn": found.processedOn,
        "finishedOn": found.finishedOn,
    }


async def work(queue):
    """Runs jobs until `count` completed. A job whose data has `fail` fails that many times first."""
    ended = asyncio.Event()
    seen = []
    failures = {}

    async def process(job, token):
        left = failures.setdefault(job.id, (job.data or {}).get("fail", 0))
        if left > 0:
            failures[job.id] = left - 1
            raise RuntimeError("as asked")
        return {"by": "peer"}

    def on_end(job, *_):
        seen.append(job.id)
        if len(seen) >= ARGUMENT["count"]:
            ended.set()

    worker = Worker(NAME, process, {**options(), "concurrency": ARGUMENT.get("concurrency", 1)})
    worker.on("completed", on_end)
    try:
        await asyncio.wait_for(ended.wait(), ARGUMENT.get("seconds", 20))
    finally:
        await end(worker)
    return seen


async def hang(queue):
    """Takes one job, tells its id, and never ends it. The test kills this process."""

    async def process(job, token):
        print(json.dumps(job.id), flush=True)
        await asyncio.sleep(3600)

    Worker(NAME, process, {**options(), "lockDuration": ARGUMENT, "stalledInterval": 100_000})
    await asyncio.sleep(3600)


async def recover(queue):
    """Looks for stalled jobs as a worker of the peer does and runs what it gets back, until one job ended."""
    ended = asyncio.Event()
    seen = []

    async def process(job, token):
        return "recovered"

    def on_end(job, *_):
        seen.append(job.id)
        ended.set()

    worker = Worker(NAME, process, {**options(), "stalledInterval": ARGUMENT, "lockDuration": 5000})
    worker.on("completed", on_end)
    try:
        await asyncio.wait_for(ended.wait(), 20)
    finally:
        await end(worker)
    return seen


async def until_failed(queue):
    """Runs one job after another, each failing, until one attempt has failed, and answers its id and reason."""
    ended = asyncio.Event()
    seen = []

    async def process(job, token):
        raise RuntimeError("as asked")

    def on_failed(job, error, *_):
        seen.extend([job.id, job.failedReason or str(error)])
        ended.set()

    worker = Worker(NAME, process, options())
    worker.on("failed", on_failed)
    try:
        await asyncio.wait_for(ended.wait(), 20)
    finally:
        await end(worker)
    return seen


async def finish(queue):
    """Ends a job with a token that is perhaps not its own, and answers what the peer says."""
    job = await Job.fromId(queue, ARGUMENT["id"])
    if job is None:
        job = Job(queue, "n", {}, {}, ARGUMENT["id"])
    try:
        await job.moveToCompleted("done", ARGUMENT["token"])
    except Exception as error:
        return str(error)
    return "done"


async def churn(queue):
    """Runs jobs, failing every third attempt, until none is left, and answers the id of each run."""
    runs = []

    async def process(job, token):
        runs.append(job.id)
        await asyncio.sleep(0.005)
        if len(runs) % 3 == 0:
            raise RuntimeError("every third")
        return "peer"

    worker = Worker(NAME, process, {**options(), "concurrency": 10})
    for _ in range(600):
        await asyncio.sleep(0.05)
        left = await queue.getJobCounts("wait", "active", "delayed", "prioritized", "paused")
        if sum(left.values()) == 0:
            break
    await end(worker)
    return runs


async def main():
    queue = Queue(NAME, options())
    answer = await globals()[COMMAND](queue)
    print(json.dumps(answer), flush=True)
    await queue.close()


asyncio.run(asyncio.wait_for(main(), 60))

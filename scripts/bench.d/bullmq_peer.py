"""The comparator of `scripts/bench queue`: BullMQ's Python client doing what ours does.

usage: bullmq_peer.py REDIS_URL QUEUE add JOBS      adds JOBS jobs of 150 bytes in bulk, 1000 a call
       bullmq_peer.py REDIS_URL QUEUE work JOBS     runs JOBS jobs, handlers doing nothing, concurrency 50
Prints jobs per second.
"""

import asyncio
import sys
import time

from bullmq import Queue, Worker

URL, NAME, MODE, COUNT = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
# The default socket timeout of redis-py 8 cuts the client's own blocking call off.
CONNECTION = {"host": URL.split("//")[1].split(":")[0], "port": int(URL.rsplit(":", 1)[1]), "socket_timeout": None}


def job(number):
    return {"name": "n", "data": {"number": number, "text": "x" * 120}, "opts": {"removeOnComplete": 1000}}


async def add():
    queue = Queue(NAME, {"connection": CONNECTION})
    started = time.monotonic()
    for first in range(0, COUNT, 1000):
        await queue.addBulk([job(number) for number in range(first, min(first + 1000, COUNT))])
    print(COUNT / (time.monotonic() - started))
    await queue.close()


async def work():
    done, begun, finished = 0, None, asyncio.Event()

    async def handle(_job, _token):
        nonlocal done, begun
        begun = begun or time.monotonic()
        done += 1
        if done == COUNT:
            finished.set()
        return None

    worker = Worker(NAME, handle, {"connection": CONNECTION, "concurrency": 50})
    await asyncio.wait_for(finished.wait(), 600)
    print(COUNT / (time.monotonic() - begun), flush=True)
    # Its close() hangs now and then.
    await asyncio.wait([asyncio.ensure_future(worker.close(True))], timeout=5)
    sys.stdout.flush()
    import os

    os._exit(0)


asyncio.run(add() if MODE == "add" else work())

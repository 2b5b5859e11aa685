"""Prints the queue's job counts as JSON, as a dashboard would read them."""
import asyncio
import json
import sys

from bullmq import Queue


async def main(url, prefix):
    queue = Queue("notification-deliver", {"connection": url, "prefix": prefix})
    print(json.dumps(await queue.getJobCounts()))
    await queue.close()


asyncio.run(main(sys.argv[1], sys.argv[2]))

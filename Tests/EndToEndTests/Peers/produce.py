"""Adds one lifecycle notification for each user named, as any Python backend would."""
import asyncio
import sys

from bullmq import Queue


async def main(url, prefix, users):
    queue = Queue("notification-deliver", {"connection": url, "prefix": prefix})
    for user in users:
        await queue.add("from-python", {"userId": user, "category": "lifecycle", "body": "Hi from Python æ"})
    print("added", len(users))
    await queue.close()


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

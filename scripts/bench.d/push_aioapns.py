"""How fast aioapns sends: COUNT pushes to distinct tokens on one connection, 100 tasks at once. Prints one figure.

Usage: push_aioapns.py PORT CERTIFICATE KEY KEY_ID TEAM_ID TOPIC COUNT
"""

import asyncio
import logging
import ssl
import sys
import time
import uuid

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

PORT, CERTIFICATE, KEY, KEY_ID, TEAM_ID, TOPIC, COUNT = sys.argv[1:8]

logging.disable(logging.WARNING)
APNsProductionClientProtocol.APNS_SERVER = "127.0.0.1"
APNsProductionClientProtocol.APNS_PORT = int(PORT)


def request(number):
    return NotificationRequest(
        device_token=f"{number:064x}",
        message={"aps": {"alert": {"title": "Impulse AI", "body": "Have you checked in with yourself today?"}}},
        notification_id=str(uuid.uuid4()),
        push_type=PushType.ALERT,
    )


async def main():
    context = ssl.create_default_context(cafile=CERTIFICATE)
    context.set_alpn_protocols(["h2"])
    with open(KEY, encoding="ascii") as file:
        key = file.read()
    client = APNs(key=key, key_id=KEY_ID, team_id=TEAM_ID, topic=TOPIC, ssl_context=context, max_connections=1)
    # Alone, because the server allows one stream until it has seen a good token.
    await client.send_notification(request(0))
    await client.send_notification(request(0))
    numbers = iter(range(1, int(COUNT) + 1))
    accepted = 0

    async def worker():
        nonlocal accepted
        for number in numbers:
            answer = await client.send_notification(request(number))
            accepted += answer.is_successful

    began = time.monotonic()
    await asyncio.gather(*(worker() for _ in range(100)))
    seconds = time.monotonic() - began
    if accepted != int(COUNT):
        sys.exit(f"only {accepted} of {COUNT} were accepted")
    print(f"aioapns_req_per_s {accepted / seconds:.0f} 1/s")


asyncio.run(main())

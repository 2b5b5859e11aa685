"""An APNs provider for the tests, on aioapns: sends pushes one by one and prints every answer as one line of JSON.

Usage: provider.py PORT CERTIFICATE KEY KEY_ID TEAM_ID TOPIC COUNT
"""

import asyncio
import json
import logging
import ssl
import sys
import uuid

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

PORT, CERTIFICATE, KEY, KEY_ID, TEAM_ID, TOPIC, COUNT = sys.argv[1:8]

logging.disable(logging.WARNING)
APNsProductionClientProtocol.APNS_SERVER = "127.0.0.1"
APNsProductionClientProtocol.APNS_PORT = int(PORT)


def request(token, alert="hi", **options):
    return NotificationRequest(
        device_token=token,
        message={"aps": {"alert": alert}},
        notification_id=str(uuid.uuid4()),
        push_type=PushType.ALERT,
        **options,
    )


async def main():
    context = ssl.create_default_context(cafile=CERTIFICATE)
    context.set_alpn_protocols(["h2"])
    with open(KEY, encoding="ascii") as file:
        key = file.read()
    client = APNs(
        key=key, key_id=KEY_ID, team_id=TEAM_ID, topic=TOPIC, ssl_context=context, max_connections=1
    )
    requests = [request(f"{number:064x}") for number in range(int(COUNT))]
    requests += [
        request("zz"),
        request("ab" * 32, alert="x" * 5000),
        request("ab" * 32, priority=7),
        request("ab" * 32, collapse_key="c" * 65),
        request("cd" * 32),
    ]
    for item in requests:
        answer = await client.send_notification(item)
        line = {
            "status": int(answer.status),
            "reason": answer.description or "",
            "timestamp": answer.timestamp,
            "sameId": answer.notification_id == item.notification_id,
        }
        print(json.dumps(line), flush=True)


asyncio.run(main())

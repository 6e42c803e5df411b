"""verify.py: the official Python verifier of Standard Webhooks judges the webhooks that flow.mjs receives.

It reads a line of JSON for each: its headers, and its body as text.
"""

import json
import os
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

secret = Webhook(os.environ["E2E_HOOK_SECRET"])


def refused(body, headers):
    try:
        secret.verify(body, headers)
    except WebhookVerificationError:
        return True
    return False


count = 0
notes = set()
for line in sys.stdin.buffer:
    hook = json.loads(line)
    body, headers = hook["body"], hook["headers"]
    event = secret.verify(body, headers)
    if event["type"] != "alert.triggered":
        sys.exit(f"{event['type']}: {body}")
    notes.add(event["data"].get("note"))
    later = headers | {"webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}
    if not refused(body + " ", headers) or not refused(body, later):
        sys.exit(f"a changed webhook is accepted: {line}")
    count += 1
if count < 1000 or len(notes) < 12:
    sys.exit(f"only {count} webhooks with {len(notes)} notes")
print(f"alerts: {count} webhooks were verified by the Python package, a change to any is refused")

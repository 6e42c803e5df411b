"""The Python package mcp in its modes. The protocol with the driver is in drive.mjs."""

import asyncio
import importlib.metadata
import json
import os
import sys
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp import Client, StdioServerParameters
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata
from pydantic import BaseModel

HTTP = os.environ["E2E_TRANSPORT"] == "http"
MODE = {"pinned": "2026-07-28"}.get(os.environ["E2E_MODE"], os.environ["E2E_MODE"])
REDIRECT = "http://localhost:41999/callback"


def request(message):
    """Asks the driver for something that a client cannot do, and waits for it."""
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())


class Storage:
    """The tokens and the registration, in memory, as an application keeps them."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Fired(BaseModel):
    alert_id: str


class Alarm(ClientExtension):
    """Without an extension that binds the method, the package drops the notification."""

    identifier = "candela.example/alerts"

    def __init__(self):
        self.fired = asyncio.Queue(maxsize=100)

    def notifications(self):
        return [NotificationBinding(method="notifications/alert_triggered", params_type=Fired, handler=self.fired.put)]

    async def came(self, alert_id):
        try:
            async with asyncio.timeout(float(os.environ["E2E_WAIT"])):
                while (await self.fired.get()).alert_id != alert_id:
                    pass
        except TimeoutError:
            return "no"
        return "yes"


def login(storage):
    answers = []

    async def show(url):
        answers.append((await asyncio.to_thread(request, {"open": url}))["to"])

    async def callback():
        query = {name: values[0] for name, values in parse_qs(urlsplit(answers[-1]).query).items()}
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[REDIRECT], token_endpoint_auth_method="none")
    return OAuthClientProvider(os.environ["E2E_URL"], metadata, storage, show, callback)


@asynccontextmanager
async def connected(storage, alarm):
    if not HTTP:
        command, *arguments = json.loads(os.environ["E2E_COMMAND"])
        async with Client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)), mode=MODE, extensions=[alarm]) as client:
            yield client
        return
    async with create_mcp_http_client(auth=login(storage)) as http:
        async with Client(streamable_http_client(os.environ["E2E_URL"], http_client=http), mode=MODE, extensions=[alarm]) as client:
            yield client


async def call(client, name, arguments):
    result = await client.call_tool(name, arguments)
    if result.is_error:
        raise RuntimeError(f"{name}: {result.content[0].text}")
    return json.loads(result.content[0].text)


async def chart(client):
    summary = await call(client, "generate_chart", {"symbol": "BTCUSDT", "format": "summary", "bars": 60})
    return "yes" if summary["price"]["bars"] == 60 else "no"


async def watched(client):
    """Subscribes to the alerts that fired, as clients of 2026-07-28 do, and reads them."""
    uri = "candela://alerts/fired"
    try:
        async with asyncio.timeout(float(os.environ["E2E_WAIT"])), client.listen(resource_subscriptions=[uri]) as changes:
            fired = await call(client, "set_alert", {"symbol": "BTCUSDT", "condition": {"price_above": 0.5}})
            async for _ in changes:
                text = (await client.read_resource(uri)).contents[0].text
                if any(n["alert_id"] == fired["alert_id"] for n in json.loads(text)["notifications"]):
                    return "yes"
    except TimeoutError:
        pass
    return "no"


async def alert(client, alarm):
    await call(client, "subscribe_notifications", {})
    fired = await call(client, "set_alert", {"symbol": "BTCUSDT", "condition": {"price_above": 0.5}})
    return await alarm.came(fired["alert_id"])


async def measure(row):
    storage, alarm = Storage(), Alarm()
    async with connected(storage, alarm) as client:
        row["tools"] = len((await client.list_tools()).tools)
        row["connects"] = "yes"
        row["call"] = await chart(client)
        modern = os.environ["E2E_SERVES"] and MODE != "legacy"
        row["push"] = await (watched(client) if modern else alert(client, alarm))
    if HTTP:
        row["oauth"] = "yes"
        request({"restart": True})
        async with connected(storage, Alarm()) as client:
            row["back"] = await chart(client)


def main():
    row = {"version": importlib.metadata.version("mcp"), "connects": "no"}
    try:
        asyncio.run(measure(row))
    except* Exception as group:
        if row["connects"] == "yes":
            raise
        row["error"] = repr(group.exceptions)
    print(json.dumps({"row": row}), flush=True)


main()

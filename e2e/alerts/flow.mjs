// The example flow of alerts by the TypeScript SDK: subscribe, an alert fires, its
// notification arrives on the stream; away, 1,500 fire, and back: the newest 1,000
// arrive in order. Over HTTP, let in by the owner, and a push over stdio. The official
// verifier of Standard Webhooks judges the webhook of each, and so does that of Python, if
// there is one.
// usage: flow.mjs BASE_URL CANDELA VENUE_URL HOME HOOK_PORT [PYTHON]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Webhook } from "standardwebhooks";
import { answer } from "../check.mjs";
import { connect, Provider } from "../oauth/client.mjs";
import { Owner } from "../oauth/owner.mjs";

const [base, candela, venue, home, hookPort, python] = process.argv.slice(2);
const owner = new Owner();
const provider = new Provider();

// hooks are the alerts that came as webhooks and were verified, by their identifier.
const hooks = new Map();
const verifier = new Webhook(process.env.E2E_HOOK_SECRET);
const other = python && spawn(python, ["verify.py"], { stdio: ["pipe", "inherit", "inherit"] });
const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString(), { headers } = request;
  const { type, data } = verifier.verify(body, headers);
  assert.equal(type, "alert.triggered");
  assert.throws(() => verifier.verify(`${body} `, headers));
  other?.stdin.write(`${JSON.stringify({ headers, body })}\n`);
  hooks.set(request.headers["webhook-id"], data.alert_id);
  response.end();
}).listen(Number(hookPort), "127.0.0.1");

// Stream collects the notifications pushed to a client.
class Stream {
  received = [];
  listen = (client) => {
    client.onerror = (error) => { this.error = error; };
    client.fallbackNotificationHandler = async (notification) => {
      assert.equal(notification.method, "notifications/alert_triggered");
      this.received.push(notification.params);
    };
  };
  // of waits until so many have come.
  async of(count) {
    for (let tries = 0; this.received.length < count; tries++) {
      assert.ok(tries < 3000, `${this.received.length} of ${count} notifications came within 60 s; ${this.error ?? "no error"}`);
      await sleep(20);
    }
    return this.received;
  }
}

const call = async (client, name, args = {}) => {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`);
  return answer(result);
};

// odd are texts that a signature may get wrong.
const odd = [
  "plain", "é ü ß", "日本語のメモ", "مرحبا بالعالم", "👩‍👩‍👧‍👦 🇩🇪 💥", "e\u0301 a\u0308\u0323", "a\u2028b\u2029c", "zero\u200bwidth\u200d\ufeff", "nul\u0000 bell\u0007",
  "\"quoted\" \\ / \\u0041", "two\nlines\r\n\tand a tab", "<b>&amp;</b>", "{\"type\":\"notice\"}", "100 % of $0.00", "𝒳".repeat(100), "long ".repeat(90), "語".repeat(500),
];

// above sets an alert whose price is reached, so that it fires at once.
let many = 0;
const above = (threshold) => ({ symbol: "BTCUSDT", condition: { price_above: threshold }, note: odd[many++ % odd.length] });

const first = new Stream();
let client = await connect(base, provider, (url) => owner.decide(url), first.listen);
await call(client, "subscribe_notifications", { symbols: ["BTCUSDT"], alert_types: ["price_above"] });
await call(client, "set_alert", { symbol: "ETHUSDT", condition: { price_above: 1 } });
await call(client, "set_alert", { symbol: "BTCUSDT", condition: { price_below: 99999999 } });
const set = await call(client, "set_alert", above(0.5));
const [one] = await first.of(1);
assert.deepEqual(Object.keys(one), ["alert_id", "symbol", "interval", "condition", "value", "triggered_at", "note"]);
assert.equal(one.alert_id, set.alert_id);
assert.deepEqual(one.condition, { type: "price_above", threshold: 0.5 });
assert.match(one.triggered_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
await client.close();
console.log("alerts: subscribed, and notified when one fired");

// The stream is gone, the token is not: these calls open no stream.
const post = async (name, args = {}) => {
  const response = await fetch(`${base}/mcp`, {
    method: "POST",
    headers: { Authorization: `Bearer ${provider.saved.access_token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  const { result } = await response.json();
  assert.ok(!result.isError, JSON.stringify(result));
  return answer(result);
};
while ((await post("list_subscriptions")).connected) await sleep(20);
await post("get_notifications");
const wanted = 1500;
let next = 1;
await Promise.all(Array.from({ length: 8 }, async () => { while (next <= wanted) await post("set_alert", above(next++ / 1000)); }));
const fired = [];
while (fired.length < wanted) {
  const notifications = await post("get_notifications", { wait_seconds: 60 });
  assert.ok(notifications.length, `${fired.length} of ${wanted} have fired`);
  fired.push(...notifications);
}
assert.equal(new Set(fired.map((f) => f.alert_id)).size, wanted);
assert.equal((await post("list_subscriptions")).offline_queue_size, 1000);

const second = new Stream();
client = await connect(base, provider, () => assert.fail("the token is good"), second.listen);
await second.of(1000);
const live = await call(client, "set_alert", above(2));
const received = await second.of(1001);
assert.deepEqual(received.slice(0, 1000), fired.slice(-1000));
assert.equal(received[1000].alert_id, live.alert_id);
assert.equal((await call(client, "list_subscriptions")).offline_queue_size, 0);
await client.close();
console.log("alerts: away while 1,500 fired, the newest 1,000 came in order, then a new one");

// The receiver of webhooks gets the newest 1,000 that wait for it; on a slow machine some of 1,503 are older.
for (let tries = 0; !new Set(hooks.values()).has(live.alert_id); tries++) {
  assert.ok(tries < 3000, `${hooks.size} webhooks came within 60 s, and not that of the newest alert`);
  await sleep(20);
}
assert.ok(hooks.size >= 1000, `${hooks.size} webhooks came`);
assert.equal(new Set(hooks.values()).size, hooks.size);
receiver.close();
console.log(`alerts: ${hooks.size} webhooks were verified`);
if (other) {
  other.stdin.end();
  assert.equal((await once(other, "close"))[0], 0);
}

const piped = new Stream();
client = new Client({ name: "e2e", version: "1" });
piped.listen(client);
await client.connect(new StdioClientTransport({ command: candela, args: ["--mcp", "--trade", "--home", home, "--binance-url", venue], stderr: "ignore", env: process.env }));
await call(client, "subscribe_notifications");
const alert = await call(client, "set_alert", above(0.5));
assert.equal((await piped.of(1))[0].alert_id, alert.alert_id);
await client.close();
console.log("alerts: pushed over stdio");

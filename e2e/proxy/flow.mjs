// What must work through a proxy, and what a wrong configuration does.
// usage: flow.mjs MODE PROXY BASE_URL DIRECT_URL SERVER SECONDS
// DIRECT_URL leads past the proxy, SERVER is a command that takes stop and start.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { answer } from "../check.mjs";
import { judge } from "./judge.mjs";
import { connect, Provider } from "../oauth/client.mjs";
import { Owner } from "../oauth/owner.mjs";
import { Stream } from "./stream.mjs";

const [mode, proxy, base, direct, server, seconds] = process.argv.slice(2);
const long = seconds >= 600;
const owner = new Owner();
const provider = new Provider();
const say = (text) => console.log(`${proxy}: ${text}`);
const run = (...args) => promisify(execFile)(server, args);

const post = (body, headers = {}) => fetch(`${base}/mcp`, {
  method: "POST", body,
  headers: { Authorization: `Bearer ${provider.saved?.access_token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
});
const call = async (name, args = {}) => {
  const response = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }));
  assert.equal(response.status, 200, `${name}: ${response.status}`);
  const { result } = await response.json();
  assert.ok(!result.isError, JSON.stringify(result));
  return answer(result);
};
const fires = (note) => call("set_alert", { symbol: "BTCUSDT", condition: { price_above: 0.5 }, note });

// letIn goes through OAuth with the TypeScript SDK. The connection of that client
// is closed: one stream of a token takes over from another.
async function letIn(who = provider) {
  const client = await connect(base, who, (url) => owner.decide(url));
  await judge(client);
  await client.close();
}

// longest is an authorization request as long as candela allows: a state of 2 KiB
// of which every byte is encoded as three.
async function longest() {
  const redirect = `http://localhost:1/${"r".repeat(480)}`;
  const registered = await fetch(`${base}/register`, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "long", redirect_uris: [redirect, ...[1, 2, 3].map((n) => `http://localhost:${n}/${"x".repeat(480)}`)] }),
  });
  const { client_id } = await registered.json();
  const state = "=".repeat(2048);
  const url = new URL("/authorize", base);
  url.search = new URLSearchParams({ response_type: "code", client_id, redirect_uri: redirect, state, code_challenge: "A".repeat(43), code_challenge_method: "S256" });
  return { url, state };
}

// past opens a stream of another client that leads past the proxy.
async function past() {
  const other = new Provider();
  await letIn(other);
  await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "subscribe_notifications" } }), { Authorization: `Bearer ${other.saved.access_token}` });
  const floor = new Stream(direct, other.saved.access_token);
  await floor.opened;
  return floor;
}

// watch counts alerts that arrive on one stream for so long, with a pause in the
// middle in which only keep-alives come. A second client listens past the proxy: what
// is late there too is not the proxy's doing but a busy machine's.
async function watch(span) {
  const floor = await past();
  const stream = new Stream(base, provider.saved.access_token);
  await Promise.all([stream.opened, floor.opened]);
  const began = Date.now(), late = [], pause = [0.4 * span, 0.6 * span];
  let sent = 0;
  for (let at = 0; at < span; at = Date.now() - began) {
    if (at < pause[0] || at > pause[1]) {
      const note = `watched ${sent++}`;
      const set = Date.now();
      await fires(note);
      const [through, past] = await Promise.all([stream.noted(note), floor.noted(note)]);
      late.push({ through: through.arrived - set, past: past.arrived - set, proxy: through.arrived - past.arrived });
    }
    await sleep(1900);
  }
  assert.equal(stream.ended, undefined, `the stream ended: ${stream.ended}`);
  assert.equal(stream.events.length, sent);
  const silence = Math.max(...stream.beats.slice(1).map((t, i) => t - stream.beats[i]));
  stream.close();
  floor.close();
  const most = (key) => Math.max(...late.map((l) => l[key]));
  const middle = (key) => late.map((l) => l[key]).sort((a, b) => a - b)[late.length >> 1];
  say(`one stream for ${(span / 1000).toFixed(0)} s, ${sent} alerts, each once; from set_alert to the client ${middle("through")} ms in the middle and ${most("through")} at most, ` +
    `past the proxy ${middle("past")} and ${most("past")}; later than past it by ${most("proxy")} ms at most; ${stream.comments} keep-alives, nothing for ${(silence / 1000).toFixed(1)} s at most`);
  // A proxy that holds alerts back gives each together with what is sent next, which is a
  // keep-alive. A client that stands still may find one of them so.
  const together = stream.events.filter((e) => e.comments > 0);
  assert.ok(together.length <= sent / 4, `${together.length} of ${sent} alerts came together with what was sent after them`);
  if (!long) return; // how late an alert is depends on the machine
  // Alert by alert, so that one that was late everywhere excuses no other. A pause of the
  // proxy's process alone may hit some.
  const held = late.filter((l) => l.proxy >= 1000 + l.past);
  assert.ok(held.length <= late.length / 4, `the proxy held ${held.length} of ${late.length} alerts back: ${JSON.stringify(held)}`);
  // What the machine itself is late by, at worst, is no fault of the proxy.
  const busy = most("past");
  assert.ok(most("through") < 1000 + 2 * busy, `an alert took ${most("through")} ms, past the proxy ${busy} at most`);
  assert.ok(most("proxy") < 1000 + busy, `the proxy held an alert back for ${most("proxy")} ms; past it alerts took ${busy} at most`);
}

async function sizes() {
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const full = await post(list + " ".repeat((1 << 20) - list.length));
  assert.equal(full.status, 200);
  assert.equal((await full.json()).result.tools.length, 15);
  const over = await post(list + " ".repeat((1 << 20) - list.length + 1));
  assert.equal(over.status, 413);
  assert.match(over.headers.get("content-type"), /json/, "the refusal is not candela's");
  const { url, state } = await longest();
  const to = await owner.decide(url);
  assert.equal(to.searchParams.get("state"), state);
  const wide = await post(list, { "X-Wide": "w".repeat(28 << 10) });
  assert.equal(wide.status, 200, "a header of 28 KiB");
  const wider = await post(list, { "X-Wide": "w".repeat(40 << 10) }).catch(() => ({ status: "cut" }));
  assert.ok([400, 431, "cut"].includes(wider.status), `a header of 40 KiB is answered with ${wider.status}`);
  say(`a body of 1 MiB passes and one more byte gets candela's 413; an address of ${url.href.length} bytes, a redirect of ${to.href.length} and a header of 28 KiB pass; 40 KiB: ${wider.status}`);
}

// calls asks without a pause, from several connections, over HTTP/1.1: every answer
// must come whole.
async function calls(span) {
  let asked = 0;
  const end = Date.now() + span;
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (; Date.now() < end; asked++) assert.ok((await call("list_indicators")).total);
  }));
  say(`${asked} calls without a pause for ${(span / 1000).toFixed(0)} s, every answer whole`);
}

// restarts ends candela under a client that listens, and starts it again.
async function restarts() {
  await call("subscribe_notifications");
  const waits = await call("set_alert", { symbol: "BTCUSDT", condition: { price_above: 9e9 }, note: "outlives" });
  const stream = new Stream(base, provider.saved.access_token);
  await stream.opened;
  await run("stop");
  const down = Date.now();
  await stream.over;
  const answers = (await post("{}")).status;
  assert.equal(answers, 502);
  await run("start");
  assert.equal((await post("{}")).status, 401, "a token outlived the process");
  await letIn();
  await call("subscribe_notifications");
  assert.ok((await call("list_alerts")).some((a) => a.alert_id === waits.alert_id), "an alert did not outlive the restart");
  const again = new Stream(base, provider.saved.access_token);
  await again.opened;
  await fires("after");
  await again.noted("after");
  const took = Date.now() - down;
  again.close();
  await call("cancel_alert", { alert_id: waits.alert_id });
  say(`candela restarted behind it: ${answers} meanwhile, then 401, approved again, the alerts still there, an alert pushed ${(took / 1000).toFixed(1)} s after the stop`);
}

const modes = {
  async right() {
    await letIn();
    say(`let in through OAuth at ${base}`);
    await call("subscribe_notifications");
    await sizes();
    await calls(long ? 60_000 : 2_000);
    await watch(seconds * 1000);
    await call("get_notifications");
    const wait = long ? 240 : 1;
    const began = Date.now();
    assert.deepEqual(await call("get_notifications", { wait_seconds: wait }), []);
    say(`get_notifications waited ${((Date.now() - began) / 1000).toFixed(0)} s for nothing`);
    await restarts();
  },
  async "held-back"() {
    await letIn();
    await call("subscribe_notifications");
    const floor = await past();
    const stream = new Stream(base, provider.saved.access_token);
    // The answer's head may be held back, too. Candela says that the client listens.
    for (const end = Date.now() + 60_000; !(await call("list_subscriptions")).connected; await sleep(20)) assert.ok(Date.now() < end, "the stream does not open");
    await fires("held");
    await floor.noted("held");
    const more = long ? 5 : 2;
    await sleep(more * 1000);
    assert.deepEqual(stream.events, [], "buffering did not hold the alert back");
    stream.close();
    floor.close();
    say(`with buffering on an alert has not come ${more} s after it came past the proxy`);
  },
  async "long-redirect-502"() {
    const { url } = await longest();
    await assert.rejects(owner.decide(url), /consent: 502/);
    say("without proxy_buffer_size a long redirect is a 502");
  },
  async "long-address-414"() {
    const { url } = await longest();
    assert.equal((await fetch(url)).status, 414);
    say("without large_client_header_buffers a long address is a 414");
  },
  async "body-html-413"() {
    await letIn();
    const refused = await post(" ".repeat((1 << 20) + 1));
    assert.equal(refused.status, 413);
    assert.match(refused.headers.get("content-type"), /html/);
    say("without client_max_body_size the refusal of a body is the proxy's page");
  },
  async "wait-504"() {
    await letIn();
    await call("get_notifications");
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_notifications", arguments: { wait_seconds: 90 } } });
    const began = Date.now();
    const { status } = await post(body);
    assert.equal(status, 504);
    say(`without proxy_read_timeout a wait of 90 s is a ${status} after ${((Date.now() - began) / 1000).toFixed(0)} s`);
  },
};
await modes[mode]();
process.exit(0); // connections that are kept alive would hold it

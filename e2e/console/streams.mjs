// From the press of Halt to HALTED while many MCP clients hold streams over TCP: the time until
// the page says that trading is halted, three times. Every stream is real: its client was let in
// by the consent page, began a session, and waits for messages; four share a token, as allowed.
// usage: streams.mjs BASE_URL COUNT
import assert from "node:assert/strict";
import http from "node:http";
import { passphrase } from "../oauth/owner.mjs";
import { launch, submit, tokens, visitor } from "./browser.mjs";

const [base, count] = [process.argv[2], Number(process.argv[3])];
const perToken = 4, atOnce = 16;
const revision = "2025-11-25";
const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });

// each runs work on all numbers, some at a time.
async function each(total, work) {
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let i = next++; i < total; i = next++) await work(i);
  }));
}

// ask sends a request and returns the answer when its head is there.
const ask = (method, headers, body, pool) => new Promise((resolve, reject) => {
  const request = http.request(`${base}/mcp`, { method, agent: pool, headers }, resolve);
  request.on("error", reject);
  request.end(body);
});

const initialize = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: "streams", version: "1" } } });
let open = 0, lost = 0;

// stream begins a session and holds its stream.
async function stream(token) {
  const headers = { Authorization: `Bearer ${token}`, Accept: "application/json, text/event-stream" };
  const answer = await ask("POST", { ...headers, "Content-Type": "application/json" }, initialize, agent);
  answer.resume();
  assert.equal(answer.statusCode, 200);
  const held = await ask("GET", { ...headers, "Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": revision }, undefined, false);
  assert.equal(held.statusCode, 200);
  open++;
  held.on("close", () => { open--; lost++; });
  held.on("error", () => {});
  held.resume();
}

const all = await tokens(base, "Streams", Math.ceil(count / perToken), each);
await each(count, (i) => stream(all[i % all.length]));
assert.equal(open, count);
const browser = await launch();
const { page, close } = await visitor(browser, base, {});
const times = [];
for (let i = 0; i < 3; i++) {
  await page.goto(`${base}/console/`);
  await page.click("a.kill");
  const began = performance.now();
  await Promise.all([page.waitForSelector("body.halted >> text=Trading is halted"), page.click("#halt button.danger")]);
  times.push(performance.now() - began);
  await page.goto(`${base}/console/resume`);
  await page.fill('main input[type="password"]', passphrase);
  await submit(page, 'main button:has-text("Resume")');
  await page.waitForSelector("text=Trading active");
}
times.sort((a, b) => a - b);
assert.equal(lost, 0, "streams were lost");
assert.ok(times[0] < 2000, `halted after ${times} ms`);
console.log(`console: ${open} MCP streams held over TCP; from the press to HALTED on the page ${times.map((t) => Math.round(t)).join(", ")} ms`);
await close();
await browser.close();
process.exit(0); // the streams end with it

// A new user: clones, does what the README says, and talks to candela as the client
// does that was set up. Prints how long it took.
// usage: user.mjs ORIGIN FOLDER CACHE VENUE_URL
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { answer } from "../check.mjs";
import { fences } from "../fence.mjs";

const [origin, folder, cache, venue] = process.argv.slice(2);
const clone = join(folder, "candela");
const began = performance.now();
const since = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
const isPNG = (bytes) => bytes.subarray(1, 4).toString() === "PNG";

execFileSync("git", ["clone", "-q", origin, clone]);
// The chart library comes from a registry, which is not asked here: the one that is there is used.
const library = "internal/serve/webchart/lib/lightweight-charts.js.gz";
if (existsSync(join(origin, library))) copyFileSync(join(origin, library), join(clone, library));
const cloned = since();

// serve runs a command that does not end by itself until it says that it is ready and
// answers, then ends it.
async function serve(line) {
  const server = spawn("bash", ["-c", `exec ${line}`], { cwd: clone });
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (chunk) => { log += chunk; });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  for (let tries = 0; !log.includes("msg=ready"); tries++) {
    assert.ok(tries < 2400 && server.exitCode === null, `${line}\n${log}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match(log, /no owner passphrase is set/, "the README says that it prints the passphrase");
  assert.equal((await fetch("http://127.0.0.1:9315/")).status, 200);
  server.kill("SIGINT");
  assert.equal(await ended, 0, log);
}

// run does what a line says and calls watch from time to time with what it has printed.
async function run(line, watch) {
  const child = spawn("bash", ["-c", line], { cwd: clone, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => watch((log += chunk)));
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 0, `${line}\n${log}`);
  watch(log);
}

let built, chart, fired;
const commands = fences(join(clone, "README.md")).filter((f) => f.words.join(" ") === "sh run").flatMap((f) => f.text.split("\n")).map((l) => l.trim()).filter((l) => l && !l.startsWith("#"));
for (const line of commands) {
  if (line.includes("--serve")) await serve(line);
  else await run(line, (log) => {
    if (/^Saved as /m.test(log)) chart ??= since();
    if (/^The alert fired /m.test(log)) fired ??= since();
  });
  if (existsSync(join(clone, "dist/candela"))) built ??= since();
}
assert.ok(chart && fired, "no command of the README showed a chart and an alert");
assert.ok(isPNG(readFileSync(join(clone, "candela-demo.png"))));

// The client that the README sets up, by the entry that was written for it.
const { command, args, env } = JSON.parse(readFileSync(join(process.env.HOME, ".claude.json"), "utf8")).mcpServers.candela;
const client = new Client({ name: "new user", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...env, CANDELA_BINANCE_URL: venue }, stderr: "ignore" }));
const call = async (name, given) => {
  const result = await client.callTool({ name, arguments: given });
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`);
  return result;
};
const picture = await call("generate_chart", { symbol: "BTCUSDT", interval: "4h", indicators: ["rsi", "macd"] });
assert.ok(isPNG(Buffer.from(picture.content[0].data, "base64")));
const drawn = since();
const { alert_id } = answer(await call("set_alert", { symbol: "BTCUSDT", condition: { price_above: 1 } }));
const notifications = answer(await call("get_notifications", { wait_seconds: 60 }));
assert.deepEqual(notifications.map((n) => n.alert_id), [alert_id]);
const alerted = since();
await client.close();
console.log(`new user, ${cache} cache: cloned after ${cloned}, built after ${built}, first chart after ${chart}, first alert after ${fired}; all ${commands.length} commands of the README done, then a client has its own first chart after ${drawn} and alert after ${alerted}`);

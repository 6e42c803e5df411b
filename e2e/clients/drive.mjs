// Runs the table of clients and compares it with expected.jsonl, which is also the list of
// its rows.
//
// Each row has a candela of its own: over stdio started by the client, over HTTP started
// here, behind a tap, and always with the trading engine on a fake venue. A runner, one
// process for each row, makes the client do its work. It learns from the environment
//
//	E2E_TRANSPORT  stdio or http           E2E_URL      where the server is, over HTTP
//	E2E_MODE       how the client begins   E2E_COMMAND  how it is started, JSON, over stdio
//	E2E_WAIT       seconds to wait         E2E_PORT     a free port, for a client that listens
//	               for a notification      E2E_LOGINS   kept: the server has --persist-logins
//	E2E_SERVES     the newest revision that the server serves, if not 2025-03-26
//
// and writes lines of JSON, each of which but the last is answered by one:
//
//	{"open": URL, "visit": BOOL}  the owner decides there: {"to": URL}, "" for nowhere
//	{"restart": true}             the server is killed and starts again: {}
//	{"action": TEXT}              the user has to do something else: {}
//	{"seen": ENTRY, "seconds": N} waits until the tap has seen such an entry: {"entry": ENTRY}
//	{"row": {...}}                the result; back says whether the client is back after
//	                              the restart
//
// usage: drive.mjs CANDELA VENUE_URL FOLDER RUNNERS [-update]
// RUNNERS is JSON: the command of each runner that is to run, by name.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Owner, passphrase } from "../oauth/owner.mjs";
import { tapHTTP } from "./tap.mjs";
import { compare, print } from "./table.mjs";

const [candela, venue, work, runners, update] = process.argv.slice(2);
const commands = JSON.parse(runners);
const patience = 120_000; // only ends a hang
const hash = execFileSync(candela, ["auth", "hash-password"], { input: passphrase + "\n", encoding: "utf8" }).trim();
const trading = (home) => ["--trade", "--home", home, "--binance-url", venue];
const freePort = () => Number(execFileSync("bash", ["-c", ". ../common.sh; port"], { env: { ...process.env, node: process.execPath }, encoding: "utf8" }));

// Server is candela over HTTP, with a tap in front that outlives a restart.
class Server {
  constructor(folder, note, flags) { Object.assign(this, { folder, note, flags, served: freePort(), port: freePort() }); }

  async begin() {
    this.tap = await tapHTTP(this.port, this.served, this.note);
    await this.start();
  }

  async start() {
    const args = ["--serve", "--port", String(this.served), "--base-url", `http://localhost:${this.port}`, ...trading(join(this.folder, "state")), ...this.flags];
    this.process = spawn(candela, args, { env: { ...process.env, CANDELA_OWNER_PASSWORD: hash }, stdio: ["ignore", "ignore", "pipe"] });
    this.ended = new Promise((resolve) => this.process.on("close", resolve));
    await new Promise((resolve, reject) => {
      createInterface({ input: this.process.stderr }).on("line", (line) => {
        writeFileSync(join(this.folder, "server.log"), line + "\n", { flag: "a" });
        if (line.includes("msg=ready")) resolve();
      }).on("close", () => reject(new Error("the server ended")));
    });
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }

  async end() {
    await this.stop();
    this.tap.closeAllConnections();
    this.tap.close();
  }
}

// Desk is where a runner's requests are served: the owner with a browser, the server and
// the tap.
class Desk {
  actions = []; // of the user, since the server started
  #owner = new Owner();
  constructor(server, entries) { Object.assign(this, { server, entries }); }

  async open({ open: address, visit }) {
    const to = await this.#owner.decide(address).catch(() => "");
    this.action({ action: to ? "approve" : "page without a form" });
    if (visit && to) await this.#owner.visit(to);
    return { to: String(to) };
  }

  async restart() {
    await this.server.stop("SIGKILL"); // a crash; a stop says goodbye to the streams
    await this.server.start();
    this.actions = [];
    return {};
  }

  action({ action }) {
    this.actions.push(action);
    return {};
  }

  async seen({ seen, seconds }) {
    const matches = (entry) => Object.entries(seen).every(([key, value]) => entry[key] === value);
    const end = Date.now() + seconds * 1000;
    let entry;
    while (!(entry = this.entries().find(matches)) && Date.now() < end) await sleep(20);
    return { entry };
  }

  answer(message) {
    for (const kind of ["open", "restart", "action", "seen"]) if (kind in message) return this[kind](message);
    throw new Error(`no such request: ${JSON.stringify(message)}`);
  }
}

// converse runs a runner to its end and returns the row that it reports.
async function converse(row, folder, environment, desk) {
  const [command, ...args] = commands[row.runner];
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  const child = spawn(command, [...args, ...(row.arguments ?? [])], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, HOME: home, E2E_TRANSPORT: row.transport, E2E_MODE: row.mode, E2E_WAIT: row.push === "yes" ? "60" : "2", E2E_LOGINS: row.logins, E2E_SERVES: row.serves ?? "", ...environment },
  });
  let result, log = "";
  child.stderr.on("data", (chunk) => { log += chunk; });
  child.stdin.on("error", () => {});
  const ended = new Promise((resolve) => child.on("close", resolve));
  const hang = setTimeout(() => { log += "\nended after too long"; child.kill("SIGKILL"); }, 3 * patience);
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("{")) { log += line + "\n"; continue; }
    const message = JSON.parse(line);
    if (message.row) result = message.row;
    else child.stdin.write(JSON.stringify(await desk.answer(message)) + "\n");
  }
  clearTimeout(hang);
  await ended;
  writeFileSync(join(folder, "runner.log"), `${log}\n${JSON.stringify(result)}\n`);
  return { log, ...(result ?? { error: "the runner reported no row" }) };
}

// opening lists how the client began, as the tap saw it.
function opening(entries) {
  const first = entries.filter((e) => e.method === "server/discover" || e.method === "initialize").map((e) => (e.revision ? `${e.method} ${e.revision}` : e.method));
  return [...new Set(first)].join(", ");
}

// refusal is the sentence for clients that want a newer revision and nothing else.
const refusal = /this server speaks 2025-03-26 and begins with initialize/;
const size = (entries, method) => entries.find((e) => e.method === method && e.bytes)?.bytes;

// measure runs one row.
async function measure(row, index) {
  const folder = join(work, String(index)), log = join(folder, "tap.jsonl"), heard = [];
  mkdirSync(folder, { recursive: true });
  const http = row.transport === "http";
  const entries = () => (http ? heard : existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line)) : []);
  const flags = [...(row.logins === "kept" ? ["--persist-logins"] : []), ...(row.serves ? [] : ["--mcp-revision", "2025-03-26"])]; // 2026-07-28 is the default
  const server = http ? new Server(folder, (entry) => heard.push(entry), flags) : undefined;
  await server?.begin();
  const environment = http
    ? { E2E_URL: `http://localhost:${server.port}/mcp`, E2E_PORT: String(freePort()) }
    : { E2E_COMMAND: JSON.stringify([process.execPath, join(import.meta.dirname, "tap.mjs"), log, candela, "--mcp", ...trading(join(folder, "state")), ...flags]) };
  const began = performance.now(), desk = new Desk(server, entries);
  const { log: said, error, back, ...result } = await converse(row, folder, environment, desk);
  await server?.end();
  if (http) writeFileSync(log, heard.map((entry) => JSON.stringify(entry) + "\n").join(""));
  const { runner, arguments: given, client, mode, transport, logins, serves } = row;
  const measured = {
    runner, ...(given && { arguments: given }), client, version: "-", mode, transport, ...(logins && { logins }), ...(serves && { serves }),
    opens: opening(entries()) || "-", ...(serves && { speaks: entries().find((e) => e.method === "tools/list")?.speaks ?? "-" }), connects: "no", tools: "-", call: "-", oauth: "-", push: "-", restart: "-", ...result,
  };
  if (measured.push === "no" && entries().some((e) => e.pushed)) measured.push = "not shown"; // it reached the client
  if (back) measured.restart = (back === "yes" ? "" : "not back: ") + (desk.actions.join(", ") || "nothing");
  if (measured.connects === "no") {
    measured.sentence = refusal.test(error) ? "shown" : entries().some((e) => refusal.test(e.error)) ? "sent" : "no";
    assert.ok(!entries().some((e) => e.method === "tools/call" && !e.error), `${client}: did not connect, but called a tool`);
  }
  return { measured, error, log: said, seconds: (performance.now() - began) / 1000, initialize: size(entries(), "initialize"), list: size(entries(), "tools/list") };
}

const table = new URL("expected.jsonl", import.meta.url);
const expected = readFileSync(table, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const wanted = expected.filter((row) => row.runner in commands);
const results = new Array(wanted.length);
let next = 0;
await Promise.all(Array.from({ length: 2 }, async () => { // two rows at a time
  while (next < wanted.length) {
    const index = next++;
    results[index] = await measure(wanted[index], index).catch((error) => ({ measured: { ...wanted[index], connects: "failed" }, error: String(error.stack) }));
  }
}));
print(results, wanted);
if (update) {
  const lines = expected.map((row) => ({ ...(results[wanted.indexOf(row)]?.measured ?? row), ...(row.why && { why: row.why }) }));
  writeFileSync(table, lines.map((row) => JSON.stringify(row) + "\n").join(""));
} else process.exit(compare(results, wanted) ? 0 : 1);

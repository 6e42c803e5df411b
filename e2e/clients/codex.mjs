// Codex without a model: its command line is configured and logs in, and its app server,
// which editors use, connects, lists and calls.
// usage: codex.mjs CODEX
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { action, Alarm, alert, chart, command, finish, logins, open, restart, streams, transport, url } from "./talk.mjs";

const [codex] = process.argv.slice(2);
const run = async (...args) => (await promisify(execFile)(codex, args)).stdout;
const alarm = new Alarm();

// login runs a command that logs in, and returns whether it worked.
async function login(...args) {
  const child = spawn(codex, ["mcp", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "", opened;
  const read = async (chunk) => {
    text += chunk;
    const address = /(http:\/\/\S+\/authorize\?\S+)\s/.exec(text)?.[1];
    if (!address || opened) return;
    opened = address;
    await open(address, true);
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const code = await new Promise((resolve) => child.on("close", resolve));
  process.stderr.write(text);
  return code === 0 && text.includes("Successfully logged in");
}

// begin starts an app server with a thread and returns how tools are called in it.
async function begin() {
  const child = spawn(codex, ["app-server"], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    if (message.method === "mcpServer/event/stream/notification") alarm.receive(message.params.notification);
  });
  const ask = async (method, params) => {
    const id = waiting.size + 1;
    const { result, error } = await new Promise((resolve) => {
      waiting.set(id, resolve);
      child.stdin.write(JSON.stringify({ id, method, params }) + "\n");
    });
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  await ask("initialize", { clientInfo: { name: "e2e", version: "1" } });
  child.stdin.write(JSON.stringify({ method: "initialized" }) + "\n");
  const threadId = (await ask("thread/start", {})).thread.id;
  return {
    tools: async () => Object.keys((await ask("mcpServerStatus/list", { threadId, serverName: "candela" })).data[0].tools).length,
    call: async (tool, args) => {
      const { content, isError } = await ask("mcpServer/tool/call", { threadId, server: "candela", tool, arguments: args });
      if (isError) throw new Error(`${tool}: ${content[0].text}`);
      return content[0].text;
    },
    end: () => new Promise((resolve) => { child.on("close", resolve); child.kill(); }),
  };
}

const row = { version: /[\d.]+/.exec(await run("--version"))[0], connects: "no" };
if (transport === "http") row.oauth = (await login("add", "candela", "--url", url)) ? "yes" : "no";
else await run("mcp", "add", "candela", "--", ...command);
const session = await begin();
row.tools = await session.tools();
row.call = await chart(session.call);
row.connects = "yes";
row.push = await alert(session.call, alarm);
if (transport === "http") row.streams = await streams();
await session.end();
if (transport === "http") {
  await restart();
  if (logins !== "kept") {
    await action("codex mcp login");
    await login("login", "candela");
  }
  const again = await begin();
  row.back = await chart(again.call);
  await again.end();
}
finish(row);

// Claude Code, as far as it goes without a model: it is configured, connects and logs in.
// The tap shows that it lists the tools.
// usage: claude.mjs CLAUDE
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { action, command, finish, logins, open, port, restart, seen, serves, transport, url } from "./talk.mjs";

const [claude] = process.argv.slice(2);
const env = { ...process.env, DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
const run = async (...args) => (await promisify(execFile)(claude, args, { env, cwd: env.HOME })).stdout;
const state = async () => /Status: \S+ (.*)/.exec(await run("mcp", "get", "candela"))?.[1].trim();

// login runs the login on a terminal, which it insists on, and returns whether it worked.
async function login() {
  const child = spawn("script", ["-qfec", `stty cols 4000; exec '${claude}' mcp login candela`, "/dev/null"], { env, cwd: env.HOME, stdio: ["pipe", "pipe", "inherit"] });
  let text = "", opened;
  child.stdout.on("data", async (chunk) => {
    text += chunk;
    // The terminal's codes for a link and a colour surround the address.
    const address = /(http:\/\/[^\s\x07\x1b]+\/authorize\?[^\s\x07\x1b]+)[\s\x07\x1b]/.exec(text)?.[1];
    if (!address || opened) return;
    opened = address;
    if (!(await open(address, true)).to) child.stdin.write("\x03"); // nothing comes back: the user gives up
  });
  await new Promise((resolve) => child.on("close", resolve));
  process.stderr.write(text);
  return (await state()) === "Connected";
}

const version = (await run("--version")).split(" ")[0];
if (transport === "http") await run("mcp", "add", "--scope", "user", "--transport", "http", "--callback-port", port, "candela", url);
else await run("mcp", "add", "--scope", "user", "candela", "--", ...command);

const row = { version, connects: "no", call: "needs a model", push: "needs a model" };
if (transport === "http") row.oauth = (await login()) ? "yes" : "no";
if ((await state()) === "Connected") row.connects = "yes";
row.tools = (await seen({ method: "tools/list" })).entry?.tools;
if (transport === "http") {
  if (!serves && (await seen({ stream: 1 })).entry) row.push = "opens the stream"; // 2026-07-28 has none
  await restart();
  if (logins === "kept") row.back = (await state()) === "Connected" ? "yes" : "no";
  else {
    await action("claude mcp login");
    row.back = (await login()) ? "yes" : "no";
  }
}
finish(row);

// The command line of MCP Inspector: one process for each call.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { command, finish, mode, open, port, restart, transport, url } from "./talk.mjs";

const program = new URL("../node_modules/.bin/mcp-inspector", import.meta.url).pathname;
const { version } = JSON.parse(readFileSync(new URL("../node_modules/@modelcontextprotocol/inspector/package.json", import.meta.url)));

// inspect runs it and opens the address that it prints when it wants a login.
async function inspect(...args) {
  const target = transport === "http" ? [url, "--transport", "http"] : command;
  const login = transport === "http" ? ["--callback-url", `http://127.0.0.1:${port}/oauth/callback`] : [];
  const revision = mode === "modern" ? ["--protocol-era", "modern"] : [];
  const child = spawn(process.execPath, [program, "--cli", ...target, ...args, ...revision, "--format", "json", "--connect-timeout", "120000", ...login], {
    stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, MCP_AUTO_OPEN_ENABLED: "true", PATH: "/nonexistent" },
  });
  let out = "", text = "", opened;
  child.stdout.on("data", (chunk) => { out += chunk; });
  child.stderr.on("data", async (chunk) => {
    text += chunk;
    const address = /(http:\/\/\S+\/authorize\?\S+)\s/.exec(text)?.[1];
    if (!address || address === opened) return;
    opened = address;
    await open(address, true);
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`exit ${code}: ${text}`);
  return JSON.parse(out);
}

const chart = async () => {
  const answer = await inspect("--method", "tools/call", "--tool-name", "generate_chart", "--tool-args-json", JSON.stringify({ symbol: "BTCUSDT", format: "summary", bars: 60 }));
  return JSON.parse((answer.result ?? answer).content[0].text).price.bars === 60 ? "yes" : "no";
};

const listed = await inspect("--method", "tools/list");
const row = { version, connects: "yes", tools: (listed.result ?? listed).tools.length, call: await chart(), push: "no" };
if (transport === "http") {
  row.oauth = "yes";
  await restart();
  row.back = await chart();
}
finish(row);

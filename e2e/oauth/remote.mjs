// mcp-remote with its browser replaced: it prints the address it would open, and
// the owner decides there. Then the server restarts, and mcp-remote comes back.
// usage: remote.mjs BASE_URL RESTART_COMMAND
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { judge } from "../check.mjs";
import { Owner } from "./owner.mjs";
import { secretsUnder } from "./secrets.mjs";

const [base, restart] = process.argv.slice(2);
const owner = new Owner();

// session runs mcp-remote once. It finds no browser, says so, and leaves the
// address it printed last to be opened by hand.
async function session() {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["../node_modules/mcp-remote/dist/proxy.js", `${base}/mcp`, "--transport", "http-only"],
    stderr: "pipe",
    env: { ...process.env, PATH: "/nonexistent" },
  });
  let clicks = 0;
  const seen = new Set();
  let text = "";
  transport.stderr.on("data", async (chunk) => {
    text += chunk;
    const url = /.*visiting:\s+(http:\/\/\S+\/authorize\?\S+)\s.*open a browser automatically/s.exec(text)?.[1];
    if (!url || seen.has(url)) return;
    seen.add(url);
    clicks++;
    await owner.visit(await owner.decide(url));
  });
  const client = new Client({ name: "e2e", version: "1" });
  try {
    await client.connect(transport, { timeout: 180_000 });
    await judge(client);
    await client.close();
    return { clicks };
  } catch (error) {
    await transport.close();
    return { clicks, error: String(error), text };
  }
}

const first = await session();
assert.equal(first.error, undefined, first.text);
assert.deepEqual(first, { clicks: 1 });
console.log("mcp-remote oauth: let in with one click");

secretsUnder(process.env.HOME + "/.mcp-auth");

const second = await session();
assert.deepEqual(second, { clicks: 0 });
console.log("mcp-remote oauth: the token is used again without a click");

await promisify(execFile)(restart); // not blocking: the connections of the former run must be seen to close
const third = await session();
assert.equal(third.error, undefined, third.text);
assert.deepEqual(third, { clicks: 1 });
console.log("mcp-remote oauth: back after a restart with one click");
secretsUnder(process.env.HOME + "/.mcp-auth");

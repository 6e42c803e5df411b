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
  const clicks = { approved: 0, healed: 0 };
  let stuck;
  const waiting = new Promise((_, reject) => { stuck = () => reject(new Error("waits for an answer that cannot come")); });
  const seen = new Set();
  let text = "";
  transport.stderr.on("data", async (chunk) => {
    text += chunk;
    // After a restart of the server this version registers again, treats its own
    // second request as a duplicate, and waits for a response to the first.
    if (/not starting another.*Waiting for authorization/s.test(text)) stuck();
    const url = /.*visiting:\s+(http:\/\/\S+\/authorize\?\S+)\s.*open a browser automatically/s.exec(text)?.[1];
    if (!url || seen.has(url)) return;
    seen.add(url);
    const link = await owner.heal(url);
    clicks[link ? "healed" : "approved"]++;
    await owner.visit(link ?? (await owner.decide(url)));
  });
  const client = new Client({ name: "e2e", version: "1" });
  try {
    await Promise.race([waiting, client.connect(transport, { timeout: 180_000 })]);
    await judge(client);
    await client.close();
    return clicks;
  } catch (error) {
    await transport.close();
    return { ...clicks, error: String(error), text };
  }
}

const first = await session();
assert.equal(first.error, undefined, first.text);
assert.deepEqual(first, { approved: 1, healed: 0 });
console.log("mcp-remote oauth: let in with one click");

secretsUnder(process.env.HOME + "/.mcp-auth");

const second = await session();
assert.deepEqual(second, { approved: 0, healed: 0 });
console.log("mcp-remote oauth: the token is used again without a click");

await promisify(execFile)(restart); // not blocking: the connections of the former run must be seen to close
let starts = 1;
let third = await session();
if (third.error?.includes("cannot come")) {
  starts++;
  third = await session();
}
assert.equal(third.error, undefined, third.text);
assert.deepEqual(third, { approved: 1, healed: 0 });
console.log(`mcp-remote oauth: back after a restart, registered again, ${starts} start(s) and one click`);
secretsUnder(process.env.HOME + "/.mcp-auth");

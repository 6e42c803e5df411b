// mcp-remote, which turns a remote server into a local one, under the TypeScript SDK. It
// finds no browser and prints the address that the owner has to open.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { action, Alarm, alert, caller, chart, finish, logins, open, restart, streams, url } from "./talk.mjs";

const folder = new URL("../node_modules/mcp-remote/", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("package.json", folder)));
const alarm = new Alarm();

// begin starts mcp-remote and returns the connected client.
async function begin() {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [new URL("dist/proxy.js", folder).pathname, url, "--transport", "http-only"],
    stderr: "pipe",
    env: { ...process.env, PATH: "/nonexistent" },
  });
  const client = new Client({ name: "e2e", version: "1" });
  client.fallbackNotificationHandler = alarm.receive;
  let text = "", opened;
  transport.stderr.on("data", async (chunk) => {
    text += chunk;
    const address = /.*visiting:\s+(http:\/\/\S+\/authorize\?\S+)\s.*open a browser automatically/s.exec(text)?.[1];
    if (!address || address === opened) return;
    opened = address;
    await open(address, true);
  });
  await client.connect(transport, { timeout: 120_000 });
  return client;
}

const client = await begin();
const call = caller(client);
const row = { version, connects: "yes", tools: (await client.listTools()).tools.length, call: await chart(call), oauth: "yes", push: "no" };
// It never closes the session with which it tries the server: two streams of one token.
row.push = await alert(call, alarm);
row.streams = await streams();
if (logins === "kept") { // the same process goes on
  await restart();
  row.back = await chart(call);
}
await client.close();
if (logins !== "kept") {
  await restart();
  // A running one would log in, but it listens for the answer only while it starts.
  await action("start it again");
  const again = await begin();
  row.back = await chart(caller(again));
  await again.close();
}
finish(row);

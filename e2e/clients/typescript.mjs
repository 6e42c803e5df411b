// The TypeScript packages: the SDK, and the client that follows it in its modes.
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import * as sdkAuth from "@modelcontextprotocol/sdk/client/auth.js";
import * as sdkClient from "@modelcontextprotocol/sdk/client/index.js";
import * as sdkStdio from "@modelcontextprotocol/sdk/client/stdio.js";
import * as sdkHTTP from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as next from "@modelcontextprotocol/client";
import * as nextStdio from "@modelcontextprotocol/client/stdio";
import { connect, Provider } from "../oauth/client.mjs";
import { Alarm, alert, caller, chart, command, finish, logins, mode, open, restart, serves, transport, url, watched } from "./talk.mjs";

const [name] = process.argv.slice(2); // sdk or client
const library = name === "sdk" ? { ...sdkAuth, ...sdkClient, ...sdkStdio, ...sdkHTTP } : { ...next, ...nextStdio };
const { version } = JSON.parse(readFileSync(new URL(`../node_modules/@modelcontextprotocol/${name}/package.json`, import.meta.url)));
const options = mode === "default" ? {} : { versionNegotiation: { mode: mode === "pinned" ? { pin: "2026-07-28" } : mode } };
class Client extends library.Client {
  constructor(info) {
    super(info, options);
    this.fallbackNotificationHandler = alarm.receive;
  }
}

const alarm = new Alarm();
const provider = new Provider();
const follow = async (address) => new URL((await open(address)).to);

async function reach() {
  if (transport === "http") return connect(new URL(url).origin, provider, follow, () => {}, { ...library, Client });
  const client = new Client({ name: "e2e", version: "1" });
  await client.connect(new library.StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "ignore", env: process.env }));
  return client;
}

let client;
try {
  client = await reach();
} catch (error) {
  finish({ version, connects: "no", error: inspect(error, { depth: 6 }) }); // with its causes
}
const call = caller(client);
const modern = serves && mode !== "default";
const listen = (uri) => client.listen({ resourceSubscriptions: [uri] });
const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
const row = { version, connects: "yes", tools: (await client.listTools()).tools.length, call: await chart(call) };
row.push = modern ? await watched(call, alarm, listen, read) : await alert(call, alarm);
if (transport === "http") {
  row.oauth = "yes";
  if (logins === "kept") await restart(); // the same client goes on
  else {
    await client.close(); // or its stream would log in beside the next client, with the same provider
    await restart();
    client = await reach();
  }
  row.back = await chart(caller(client));
}
await client.close();
finish(row);

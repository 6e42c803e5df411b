// The TypeScript SDK over HTTP and stdio.
// usage: sdk.mjs BASE_URL TOKEN CANDELA CSV_DIR
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { judge } from "./check.mjs";

const [base, token, candela, csv] = process.argv.slice(2);
const info = { name: "e2e", version: "1" };
const headers = { Authorization: `Bearer ${token}` };

for (const path of ["/mcp", "/", "/message"]) {
  const client = new Client(info);
  const failures = [];
  client.onerror = (error) => failures.push(String(error));
  const transport = new StreamableHTTPClientTransport(new URL(base + path), { requestInit: { headers } });
  await client.connect(transport);
  assert.equal(transport.protocolVersion, "2025-03-26");
  await judge(client);
  await client.ping();
  // GET / is the discovery document, not a stream; the SDK may say so. It may also say
  // that the stream is gone once this closes it.
  if (path === "/mcp") assert.deepEqual(failures, []);
  await client.close();
  console.log(`sdk http ${path}: ok`);
}

{
  const client = new Client(info);
  const slow = new AbortController();
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers } }));
  const call = client.callTool({ name: "generate_chart", arguments: { bars: 5000, width: 4096, height: 4096 } }, undefined, { signal: slow.signal });
  slow.abort();
  await assert.rejects(call, /abort/i);
  await client.ping();
  await client.close();
  console.log("sdk http cancellation: ok");
}

{
  const client = new Client(info);
  const open = new StreamableHTTPClientTransport(new URL(`${base}/mcp`));
  await assert.rejects(client.connect(open), /401|unauthorized/i);
  console.log("sdk http without a token: refused");
}

{
  const client = new Client(info);
  await client.connect(new StdioClientTransport({ command: candela, args: ["--mcp", "--csv-dir", csv], stderr: "ignore", env: process.env }));
  await judge(client);
  await judge(client, { symbol: "TEST" });
  await client.close();
  console.log("sdk stdio: ok");
}

// mcp-remote, which turns a remote server into a local one.
// usage: remote.mjs BASE_URL TOKEN
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { judge } from "./check.mjs";

const [base, token] = process.argv.slice(2);
const client = new Client({ name: "e2e", version: "1" });
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: ["node_modules/mcp-remote/dist/proxy.js", `${base}/mcp`, "--transport", "http-only", "--header", `Authorization: Bearer ${token}`],
    stderr: "ignore",
    env: process.env,
  }),
);
await judge(client);
await client.close();
console.log("mcp-remote: ok");

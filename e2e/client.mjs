// The second generation of the TypeScript client, which tries the newest
// protocol first and falls back.
// usage: client.mjs BASE_URL TOKEN CANDELA
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { judge } from "./check.mjs";

const [base, token, candela] = process.argv.slice(2);
const info = { name: "e2e", version: "2" };

{
  const client = new Client(info);
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit }));
  await judge(client);
  await client.close();
  console.log("client http: ok");
}

{
  const client = new Client(info);
  await client.connect(new StdioClientTransport({ command: candela, args: ["--mcp"], stderr: "ignore", env: process.env }));
  await judge(client);
  await client.close();
  console.log("client stdio: ok");
}

// The TypeScript SDK's OAuth client: lets itself in, and comes back by itself
// after a restart of the server, but for the owner's click.
// usage: sdk.mjs BASE_URL RESTART_COMMAND
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { judge } from "../check.mjs";
import { Owner } from "./owner.mjs";
import { secret } from "./secrets.mjs";

const [base, restart] = process.argv.slice(2);
const owner = new Owner();

// A provider with a memory, as the SDK's examples have it.
class Provider {
  registrations = 0;
  redirectUrl = "http://localhost:41999/callback";
  clientMetadata = {
    client_name: "TypeScript SDK", redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none",
  };
  state = () => "a state & more";
  clientInformation = () => this.client;
  saveClientInformation = (client) => { this.client = client; this.registrations++; secret(client.client_secret); };
  tokens = () => this.saved;
  saveTokens = (tokens) => { this.saved = tokens; secret(tokens.access_token); };
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => { this.verifier = verifier; secret(verifier); };
  redirectToAuthorization = (url) => { this.asked = url; };
  invalidateCredentials = (scope) => {
    if (scope === "all" || scope === "client") this.client = undefined;
    if (scope === "all" || scope === "tokens") this.saved = undefined;
    if (scope === "all" || scope === "verifier") this.verifier = undefined;
  };
}

const provider = new Provider();

// connect tries, and finishes the flow with what follow makes of the address
// that the SDK wants opened. It returns a connected client.
async function connect(follow) {
  for (let tries = 0; tries < 3; tries++) {
    const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: provider });
    const client = new Client({ name: "e2e", version: "1" });
    provider.asked = undefined;
    try {
      await client.connect(transport);
      await client.callTool({ name: "list_indicators", arguments: {} });
      return client;
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || !provider.asked) throw error;
      const answer = await follow(provider.asked);
      assert.equal(answer.searchParams.get("state"), "a state & more");
      assert.equal(answer.searchParams.get("iss"), base);
      await transport.finishAuth(answer.searchParams.get("code")).catch((error) => console.log(`sdk oauth: ${error.errorCode ?? error.message}`));
    }
  }
  throw new Error("not let in after three tries");
}

const first = await connect((url) => owner.decide(url));
await judge(first);
await first.close();
assert.equal(provider.registrations, 1);
assert.equal(provider.saved.expires_in, 604800);
console.log("sdk oauth: let in with one click");

await promisify(execFile)(restart); // not blocking: the connections of the former run must be seen to close
let pages = 0;
const again = await connect(async (url) => {
  pages++;
  const link = await owner.heal(url);
  return link ?? owner.decide(url);
});
await again.close();
assert.equal(provider.registrations, 2);
console.log(`sdk oauth: back after a restart, registered anew, ${pages} page(s) opened`);

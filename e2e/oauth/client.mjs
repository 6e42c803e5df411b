// The TypeScript SDK with its OAuth client.
import assert from "node:assert/strict";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { secret } from "./secrets.mjs";

// A provider with a memory, as the SDK's examples have it.
export class Provider {
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

// connect tries, and finishes the flow with what follow makes of the address
// that the SDK wants opened. It returns a client that is connected, which prepare
// may change before. Another library of the same form may take the place of the SDK.
const sdk = { Client, StreamableHTTPClientTransport, UnauthorizedError };
export async function connect(base, provider, follow, prepare = () => {}, library = sdk) {
  for (let tries = 0; tries < 3; tries++) {
    const transport = new library.StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: provider });
    const client = new library.Client({ name: "e2e", version: "1" });
    prepare(client);
    provider.asked = undefined;
    try {
      await client.connect(transport);
      await client.callTool({ name: "list_indicators", arguments: {} });
      return client;
    } catch (error) {
      if (!(error instanceof library.UnauthorizedError) || !provider.asked) throw error;
      const answer = await follow(provider.asked);
      assert.equal(answer.searchParams.get("state"), "a state & more");
      assert.equal(answer.searchParams.get("iss"), base);
      await transport.finishAuth(answer.searchParams.get("code"), answer.searchParams.get("iss")).catch((error) => console.log(`sdk oauth: ${error.errorCode ?? error.message}`));
    }
  }
  throw new Error("not let in after three tries");
}

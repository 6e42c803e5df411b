// An identity provider for the tests, the package oidc-provider: it knows ann, bob and eve, whose
// email is not verified, and asks for no consent of its own, as many providers in companies do.
// usage: provider.mjs PORT CANDELA_BASE_URL
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

const [port, base] = process.argv.slice(2);
const people = {
  ann: { name: "Ann", email: "ann@example.com", email_verified: true, groups: ["traders"] },
  bob: { name: "Bob", email: "bob@example.com", email_verified: true },
  eve: { name: "Eve", email: "eve@example.com", email_verified: false },
};

const key = { ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), use: "sig", alg: "ES256", kid: String(process.pid) };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys: [key] },
  clients: [{
    client_id: "candela", client_secret: "candela-secret", redirect_uris: [`${base}/signin/callback`], id_token_signed_response_alg: "ES256",
    backchannel_logout_uri: `${base}/signin/logout`, backchannel_logout_session_required: true,
  }],
  conformIdTokenClaims: false,
  claims: { openid: ["sub", "sid"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
  findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
  cookies: { keys: ["only of a test"] },
  ttl: { AccessToken: 300, AuthorizationCode: 60, Grant: 3600, IdToken: 300, Interaction: 600, Session: 3600 },
  // Its own refuses to call this machine.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  loadExistingGrant: async ({ oidc }) => {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid email profile groups");
    await grant.save();
    return grant;
  },
});
provider.on("backchannel.error", (_, error) => console.error("back channel:", error.message, error.cause));
provider.on("server_error", (_, error) => console.error(error));
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));

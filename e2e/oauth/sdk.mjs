// The TypeScript SDK's OAuth client: lets itself in, and comes back by itself
// after a restart of the server, but for the owner's click.
// usage: sdk.mjs BASE_URL RESTART_COMMAND
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { judge } from "../check.mjs";
import { connect, Provider } from "./client.mjs";
import { Owner } from "./owner.mjs";

const [base, restart] = process.argv.slice(2);
const owner = new Owner();
const provider = new Provider();

const first = await connect(base, provider, (url) => owner.decide(url));
await judge(first);
await first.close();
assert.equal(provider.registrations, 1);
assert.equal(provider.saved.expires_in, 604800);
console.log("sdk oauth: let in with one click");

await promisify(execFile)(restart); // not blocking: the connections of the former run must be seen to close
let pages = 0;
const again = await connect(base, provider, (url) => {
  pages++;
  return owner.decide(url);
});
await again.close();
assert.equal(provider.registrations, 1);
assert.equal(pages, 1);
console.log("sdk oauth: back after a restart with one click");

// The official suite against the authorization server, with the owner at the
// page that it asks to be opened.
// usage: conformance.mjs BASE_URL PORT OUTPUT_DIR
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Owner } from "./owner.mjs";
import { secret } from "./secrets.mjs";

const [base, port, out] = process.argv.slice(2);
const redirect = `http://127.0.0.1:${port}/callback`;
const client = await (
  await fetch(`${base}/register`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "Conformance", redirect_uris: [redirect] }),
  })
).json();
secret(client.client_secret);

const suite = spawn(
  process.execPath,
  ["../node_modules/conformance-next/dist/index.js", "authorization", "--url", base, "--client-id", client.client_id,
    "--resource", `${base}/mcp`, "--port", port, "-o", out],
  { stdio: ["ignore", "pipe", "inherit"] },
);
let text = "", opened = false;
suite.stdout.on("data", async (chunk) => {
  text += chunk;
  const url = /http:\/\/\S+\/authorize\?\S+(?=\s)/.exec(text)?.[0];
  if (url && !opened) {
    opened = true;
    const owner = new Owner();
    await owner.visit(await owner.decide(url));
  }
});
const code = await new Promise((resolve) => suite.on("close", resolve));
const summary = text.slice(text.lastIndexOf("Waiting up to"));
assert.equal(code, 0, text);
assert.ok(opened, text);
assert.match(summary, /Total: 2 passed, 0 failed/);
console.log(summary.split("\n").slice(1).join("\n").trim());
console.log("conformance authorization: ok");

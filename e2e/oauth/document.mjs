// A client whose id is the URL of its document: the TypeScript libraries let themselves in
// without a registration, and come back after a restart with one approval and no change.
// usage: document.mjs BASE_URL RESTART_COMMAND PORT KEY_FILE CERTIFICATE_FILE
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { promisify } from "node:util";
import * as client from "@modelcontextprotocol/client";
import { judge } from "../check.mjs";
import { connect, Provider } from "./client.mjs";
import { Owner } from "./owner.mjs";

const [base, restart, port, key, cert] = process.argv.slice(2);
const id = `https://localhost:${port}/client.json`;
let fetched = 0;
const site = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  fetched++;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ client_id: id, client_name: "A documented client", redirect_uris: ["http://localhost:41999/callback"], token_endpoint_auth_method: "none" }));
});
await new Promise((listening) => site.listen(Number(port), "127.0.0.1", listening));

class Documented extends Provider {
  clientMetadataUrl = id;
}

for (const [name, library] of [["1.x", undefined], ["2.x", client]]) {
  const provider = new Documented();
  for (const run of ["first", "after a restart"]) {
    const owner = new Owner();
    let pages = 0;
    const before = fetched;
    const connected = await connect(base, provider, (url) => {
      pages++;
      assert.equal(new URL(url).searchParams.get("client_id"), id);
      return owner.decide(url);
    }, undefined, library);
    await judge(connected);
    await connected.close();
    assert.equal(pages, 1, `${name}, ${run}: pages`);
    assert.ok(fetched > before || run === "first", `${name}, ${run}: the document was not read`);
    assert.equal(provider.client.client_secret, undefined);
    if (run === "first") await promisify(execFile)(restart);
  }
  console.log(`document oauth: client ${name} is let in, and back after a restart with one approval`);
}
site.close();

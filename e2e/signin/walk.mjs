// Chromium signs people in at an identity provider and tries what an attacker would.
// usage: walk.mjs BASE_URL KIND ISSUER RESTART
// KIND is oidc-provider or dex, RESTART a command that starts it again, with other keys.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { secret } from "../oauth/secrets.mjs";

const [base, kind, issuer, restart] = process.argv.slice(2);
const patience = 120_000; // to end a hang: Chromium is slow on a busy machine

const callbacks = [];
const client = await new Promise((resolve) => {
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/callback") callbacks.push(url.searchParams);
    response.end("done");
  }).listen(0, "127.0.0.1", () => resolve(server));
});
const redirect = `http://localhost:${client.address().port}/callback`;
const registered = await (
  await fetch(`${base}/register`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "Claude Code", redirect_uris: [redirect] }),
  })
).json();
secret(registered.client_secret);
const ask = `${base}/authorize?${new URLSearchParams({
  client_id: registered.client_id, redirect_uri: redirect, response_type: "code", state: "state",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256",
})}`;

const browser = await chromium.launch({
  timeout: patience,
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// visitor returns a browser with cookies of its own. Nothing leaves this machine.
async function visitor() {
  const context = await browser.newContext();
  context.setDefaultTimeout(patience);
  await context.route((url) => !["localhost", "127.0.0.1"].includes(url.hostname), (route) => route.abort());
  return context.newPage();
}

// signIn fills the form of the provider, if it shows one, and returns when candela's page is there.
async function signIn(page, name) {
  const theirs = page.locator("input[name=login]"), ours = page.locator("main h1");
  await theirs.or(ours).first().waitFor();
  if (await ours.count()) return;
  await theirs.fill(kind === "dex" ? `${name}@example.com` : name);
  await page.fill("input[name=password]", "password");
  await page.click("button[type=submit]");
  await ours.waitFor();
}

const text = (page) => page.textContent("main");
let allowed = 0;
async function allow(page) {
  await Promise.all([page.waitForURL(/\/callback\?/), page.click("button[value=approve]")]);
  allowed++;
  const answer = callbacks.at(-1);
  assert.ok(answer.get("code"), "no code");
  secret(answer.get("code"));
  const token = await (
    await fetch(`${base}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code", client_id: registered.client_id, code: answer.get("code"), redirect_uri: redirect,
        code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
      }),
    })
  ).json();
  secret(token.access_token);
  return token.access_token;
}
const works = async (token) =>
  (await fetch(`${base}/mcp`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  })).status === 200;

async function until(what, happens) {
  for (const end = Date.now() + patience; !(await happens()); await new Promise((after) => setTimeout(after, 50)))
    assert.ok(Date.now() < end, what);
}

const ann = await visitor();
let began = performance.now();
await ann.goto(ask);
assert.ok(ann.url().startsWith(issuer), `not at the provider but at ${ann.url()}`);
await signIn(ann, "ann");
console.log(`${kind}: ann signs in within ${Math.round(performance.now() - began)} ms`);
assert.match(await text(ann), /You are\s+Ann \(ann@example.com\)|You are\s+ann \(ann@example.com\)/);
assert.ok(!ann.url().includes("code="), "the provider's code stays in the address bar");
const annsToken = await allow(ann);
assert.ok(await works(annsToken));

await ann.goto(ask);
assert.match(await text(ann), /Allow .*Claude Code/);
assert.ok(!(await ann.locator("input[name=password]").count()));
console.log(`${kind}: a second visit asks for consent and not for a password`);

// The provider remembers ann and asks nothing, yet candela asks.
await ann.context().clearCookies({ name: /^candela_/ });
await ann.goto(ask);
await signIn(ann, "ann");
assert.match(await text(ann), /You are/);
console.log(`${kind}: a sign-in that the provider skips still ends at the consent page`);

// Confused deputy and login CSRF: the address at the provider, opened in another browser.
{
  const attacker = await fetch(ask, { redirect: "manual" });
  const upstream = attacker.headers.get("location");
  assert.equal(attacker.status, 303);
  const answered = ann.waitForResponse((response) => response.url().startsWith(`${base}/signin/callback`));
  await ann.goto(upstream);
  await signIn(ann, "ann");
  assert.equal((await answered).status(), 400);
  assert.match(await text(ann), /Start again/);
  console.log(`${kind}: the request of another browser ends in 400`);
}

// returning signs somebody in again, as far as the address at which the browser comes back.
async function returning(page) {
  await page.context().clearCookies({ name: /^candela_login/ });
  for (let at = ask; ; ) {
    const answer = await page.context().request.get(at, { maxRedirects: 0 });
    const next = answer.headers().location;
    assert.ok(next, `${at} answers ${answer.status()}`);
    at = new URL(next, at).href;
    if (at.startsWith(`${base}/signin/callback`)) return new URL(at);
  }
}

// Mix-up and code injection: the answer is changed on its way back.
{
  const attacker = await visitor();
  await attacker.goto(ask);
  await signIn(attacker, "bob");
  const stolen = (await returning(ann)).searchParams.get("code"); // it never reached candela
  for (const [what, name, value] of [["an answer of another issuer", "iss", "https://evil.example"], ["a code that was stolen", "code", stolen]]) {
    const back = await returning(attacker);
    back.searchParams.set(name, value);
    const answer = await attacker.goto(back.href);
    assert.equal(answer.status(), 400, what);
    assert.match(await text(attacker), /Start again/, what);
    console.log(`${kind}: ${what} ends in 400`);
  }
  await attacker.context().close();
}

// Eve's email is not verified, and nobody else vouches for her.
{
  const eve = await visitor();
  await eve.goto(ask);
  await signIn(eve, "eve");
  assert.match(await text(eve), /Your account may not use this server/);
  assert.match(await text(eve), /help@example.com/);
  await eve.context().close();
  console.log(`${kind}: an unverified email is refused`);
}

// Another person at the same browser.
{
  const page = await visitor();
  await page.goto(ask);
  await signIn(page, "ann");
  await page.click("button[value=logout]");
  if (kind === "dex") await page.click("button[value=logout]"); // with one way to sign in it names the same person first
  await page.locator("input[name=login]").waitFor();
  await signIn(page, "bob");
  assert.match(await text(page), /You are\s+[Bb]ob \(bob@example.com\)/);
  const bobsToken = await allow(page);
  assert.ok(await works(bobsToken));
  await page.context().close();
  console.log(`${kind}: "Not you?" signs in somebody else`);
}

if (kind === "oidc-provider") {
  const page = await visitor();
  await page.goto(ask);
  await Promise.all([page.waitForURL(/\/callback\?/), page.click("text=Cancel")]);
  assert.equal(callbacks.at(-1).get("error"), "access_denied");
  assert.equal(callbacks.at(-1).get("code"), null);
  await page.context().close();
  console.log(`${kind}: who turns back at the provider reaches the client as access_denied`);
}

// A logout at the provider ends the token, over the back channel.
{
  const page = await visitor();
  await page.goto(ask);
  await signIn(page, "ann");
  const token = await allow(page);
  assert.ok(await works(token));
  if (kind === "dex") {
    await page.goto(`${issuer}/logout`);
    const button = page.locator("button[type=submit]");
    if (await button.count()) await button.first().click();
  } else {
    await page.goto(`${issuer}/session/end`);
    await page.click("button[value=yes]");
  }
  began = performance.now();
  await until("the token outlives the logout", async () => !(await works(token)));
  await page.goto(ask);
  await page.locator("input[name=login]").waitFor();
  await page.context().close();
  console.log(`${kind}: a logout at the provider ends the token and the login`);
}

// The provider restarts with other keys.
execFileSync(restart, { stdio: "inherit" });
await until("the new keys are not followed", async () => {
  const page = await visitor();
  await page.goto(ask);
  await signIn(page, "bob");
  const good = /You are/.test(await text(page));
  await page.context().close();
  return good; // keys are asked for at most once in ten seconds
});
console.log(`${kind}: new keys of the provider are followed`);

assert.equal(callbacks.filter((answer) => answer.get("code")).length, allowed, "a code without consent");
console.log(`${kind}: ${allowed} codes, each with a consent`);
await browser.close();
client.close();

// Chromium at the owner's console: log in, look at every page, halt, resume, revoke, log out;
// with script and without. axe finds nothing on any page in either theme, no request leaves
// the host, and the content policy is never violated.
// usage: walk.mjs BASE_URL [FOLDER]
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { Owner, passphrase } from "../oauth/owner.mjs";

const [base, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const patience = 60_000;
const browser = await chromium.launch({
  timeout: patience,
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// client lets a program in, so that there is one to revoke.
async function client(name) {
  const redirect = "https://claude.ai/api/mcp/auth_callback";
  const post = (path, body, type) => fetch(base + path, { method: "POST", headers: type ? { "Content-Type": type } : {}, body });
  const registered = await (await post("/register", JSON.stringify({ client_name: name, redirect_uris: [redirect] }), "application/json")).json();
  const to = await new Owner().decide(`${base}/authorize?${new URLSearchParams({
    client_id: registered.client_id, redirect_uri: redirect, response_type: "code", state: "s",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256",
  })}`);
  const token = await (await post("/token", new URLSearchParams({
    grant_type: "authorization_code", client_id: registered.client_id, code: to.searchParams.get("code"), redirect_uri: redirect,
    code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  }))).json();
  return token.access_token;
}

const call = (token) => fetch(`${base}/mcp`, {
  method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_positions", arguments: {} } }),
});

// visitor returns a page that is logged in, and what went wrong on it.
async function visitor(options) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (m) => { if (m.type() === "error" && !/status of (401|404|409)/.test(m.text())) wrong.push(m.text()); });
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("request", (r) => { if (!r.url().startsWith(base) && !r.url().startsWith("data:")) wrong.push(`request to ${r.url()}`); });
  await page.goto(`${base}/console/`);
  await page.fill("input[type=password]", passphrase);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await page.waitForSelector("main h1");
  return { page, wrong, close: () => context.close() };
}

// submit presses a button and waits for the next page.
const submit = (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);

const pages = ["/", "/orders", "/approvals", "/alerts", "/clients", "/activity", "/settings", "/more", "/halt", "/resume", "/clients/revoke-all"];

async function findings(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe }); // past the content policy, as tools of a browser are
  return page.evaluate(async () => (await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })).violations
    .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(" | ")}`));
}

const token = await client("Claude");
assert.equal((await call(token)).status, 200);

const bad = [];
for (const [name, options] of Object.entries({
  dark: { colorScheme: "dark" }, light: { colorScheme: "light" },
  phone: { colorScheme: "dark", viewport: { width: 390, height: 844 } },
})) {
  const { page, wrong, close } = await visitor(options);
  for (const path of pages) {
    const answer = await page.goto(`${base}/console${path}`);
    assert.equal(answer.status(), 200, path);
    if (folder) await page.screenshot({ path: `${folder}/console-${path.slice(1).replaceAll("/", "-") || "overview"}-${name}.png` });
    for (const one of await findings(page)) bad.push(`${name} ${path} ${one}`);
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) bad.push(`${name} ${path} scrolls sideways`);
  }
  for (const one of wrong) bad.push(`${name}: ${one}`);
  await close();
}
assert.deepEqual(bad, []);
console.log(`console: ${pages.length} pages in 3 forms, axe finds nothing, no request leaves the host`);

for (const [name, options] of Object.entries({ script: {}, "no script": { javaScriptEnabled: false } })) {
  const { page, wrong, close } = await visitor(options);
  const access = await client(`Client of ${name}`);
  // Halt, and resume with the passphrase.
  await page.goto(`${base}/console/halt`);
  await page.fill('main input[name="reason"]', `walk with ${name}`);
  await submit(page, 'main button:has-text("Halt now")');
  await page.waitForSelector(`text=walk with ${name}`);
  await page.goto(`${base}/console/resume`);
  await page.fill('main input[type="password"]', "not the passphrase");
  await submit(page, 'main button:has-text("Resume")');
  await page.waitForSelector('[role="alert"]');
  await page.fill('main input[type="password"]', passphrase);
  await submit(page, 'main button:has-text("Resume")');
  await page.waitForSelector("text=Trading active");
  // Revoke a client, which then is refused.
  assert.equal((await call(access)).status, 200);
  await page.goto(`${base}/console/clients`);
  await submit(page, `tr:has-text("Client of ${name}") a.sym`);
  await page.waitForSelector("text=get_positions");
  await page.goto(`${page.url()}/revoke`);
  await submit(page, 'main button:has-text("Revoke")');
  await page.waitForSelector("text=Revoked by you");
  assert.equal((await call(access)).status, 401);
  // All of it is in the log, whose chain holds.
  await page.goto(`${base}/console/activity?group=owner`);
  await page.waitForSelector("text=token_revoked");
  await submit(page, 'button:has-text("Verify now")');
  await page.waitForSelector("text=chain unbroken");
  // Looks.
  await page.goto(`${base}/console/settings`);
  await submit(page, 'button:has-text("Blue and orange")');
  assert.equal(await page.getAttribute("html", "data-marks"), "blue");
  await page.goto(`${base}/console/more`);
  await submit(page, 'main button:has-text("Log out")');
  await page.goto(`${base}/console/`);
  await page.waitForSelector("input[type=password]");
  assert.deepEqual(wrong.filter((w) => !/40[39]|422/.test(w)), []);
  console.log(`console: logged in, halted, resumed, revoked, verified and logged out, with ${name}`);
  await close();
}
await browser.close();

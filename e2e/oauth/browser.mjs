// Chromium at the consent page of a server that trades on paper: approve, deny, choices,
// wrong passphrase, throttle, framing and posts from elsewhere. Screenshots go to a folder when one is named.
// usage: browser.mjs BASE_URL [FOLDER]
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { passphrase } from "./owner.mjs";
import { secret } from "./secrets.mjs";

const [base, folder] = process.argv.slice(2);

// The client's own listener, and a page of another site.
const listen = (answer) =>
  new Promise((resolve) => {
    const server = createServer(answer).listen(0, "127.0.0.1", () => resolve({ server, port: server.address().port }));
  });
const callbacks = [];
const client = await listen((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname === "/callback") callbacks.push(url); // the browser also asks for an icon
  response.end("done");
});
let foreignHTML = "";
const foreign = await listen((_, response) => response.setHeader("Content-Type", "text/html").end(foreignHTML));

const redirect = `http://localhost:${client.port}/callback`;
const registered = await (
  await fetch(`${base}/register`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "Claude Code", redirect_uris: [redirect] }),
  })
).json();
secret(registered.client_secret);
const ask = (id = registered.client_id) =>
  `${base}/authorize?${new URLSearchParams({
    client_id: id, redirect_uri: redirect, response_type: "code", state: "state",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256",
  })}`;

const patience = 120_000; // to end a hang: Chromium is slow on a busy machine
const browser = await chromium.launch({
  timeout: patience,
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// visitor returns a page with cookies of its own, and what Chromium complains of.
async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => { if (/policy|refused|blocked/i.test(message.text())) complaints.push(message.text()); });
  return { page, complaints, close: () => context.close() };
}

async function answerOf(act) {
  const before = callbacks.length;
  await act();
  assert.equal(callbacks.length, before + 1, "the browser did not reach the client");
  const { searchParams } = callbacks.at(-1);
  assert.equal(searchParams.get("state"), "state");
  assert.equal(searchParams.get("iss"), base);
  secret(searchParams.get("code"));
  return searchParams;
}

const press = (page, text) => Promise.all([page.waitForURL(/\/callback/), page.click(`:is(button, a):has-text("${text}")`)]);

for (const [name, options] of Object.entries({
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 } },
  small: { colorScheme: "dark", viewport: { width: 320, height: 568 } },
  "phone-dark": { colorScheme: "dark", viewport: { width: 390, height: 844 } },
})) {
  const { page, complaints, close } = await visitor(options);
  await page.goto(ask());
  // The focus comes with the first frame that is drawn, which may be after the load.
  await page.waitForFunction(() => document.activeElement?.id === "passphrase");
  assert.equal(await page.locator("h1").evaluate((h) => getComputedStyle(h).fontSize), page.viewportSize().width > 520 ? "22px" : "20px", "the style does not apply");
  for (const button of await page.locator("button").all()) {
    const box = await button.boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= page.viewportSize().height, `${name}: a button is out of sight`);
  }
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: the page scrolls sideways`);
  assert.ok(await page.locator("img").evaluate((img) => img.complete && img.naturalWidth > 0), "the icon does not load");
  if (folder) await page.screenshot({ path: `${folder}/consent-${name}.png`, fullPage: true });
  assert.deepEqual(complaints, []);
  await close();
}

{
  const { page, close } = await visitor();
  await page.goto(ask());
  assert.equal((await answerOf(() => press(page, "Deny"))).get("error"), "access_denied");
  console.log("browser: deny reaches the client, without a passphrase");

  await page.goto(ask());
  const checked = () => page.locator("input[type=radio]:checked").evaluateAll((all) => all.map((one) => one.value));
  assert.deepEqual(await checked(), ["trade", "7d"]);
  await page.click("text=Read");
  await page.click("text=1 hour");
  assert.deepEqual(await checked(), ["read", "1h"]);
  await page.fill("#passphrase", "wrong-passphrase-of-the-browser");
  secret("wrong-passphrase-of-the-browser");
  await page.keyboard.press("Enter");
  await page.waitForSelector('[role="alert"]');
  assert.match(await page.textContent('[role="alert"]'), /Wrong passphrase/);
  if (folder) await page.screenshot({ path: `${folder}/consent-wrong.png` });
  assert.deepEqual(await checked(), ["read", "1h"], "the choices are lost with a wrong passphrase");
  await page.fill("#passphrase", passphrase);
  const code = (await answerOf(() => Promise.all([page.waitForURL(/\/callback/), page.keyboard.press("Enter")]))).get("code");
  console.log("browser: a wrong passphrase is reported, the right one approves");

  const token = await (
    await fetch(`${base}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code", client_id: registered.client_id, code, redirect_uri: redirect,
        code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
      }),
    })
  ).json();
  secret(token.access_token);
  assert.deepEqual([token.scope, token.expires_in], ["read", 3600]);
  const outside = await (
    await fetch(`${base}/mcp`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token.access_token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "cancel_order", arguments: { order_id: "x" } } }),
    })
  ).json();
  assert.equal(JSON.parse(outside.result.content[0].text).code, "insufficient_scope");
  console.log("browser: the token has the scope and the duration that were chosen");

  await page.goto(ask());
  assert.equal(await page.locator("#passphrase").count(), 0);
  assert.ok((await answerOf(() => press(page, "Allow"))).get("code"));
  console.log("browser: second visit asks for the click alone");

  await page.goto(ask());
  await page.click("text=Read");
  await Promise.all([page.waitForNavigation(), page.click('button:has-text("Log out")')]);
  await page.waitForSelector("#passphrase");
  assert.deepEqual(await checked(), ["read", "7d"], "the choices are lost with the login");
  await page.goto(ask());
  await page.fill("#passphrase", passphrase);
  assert.ok((await answerOf(() => press(page, "Allow"))).get("code"));
  console.log("browser: log out ends the login, and keeps the choices");

  foreignHTML = `<iframe src="${ask()}"></iframe>`;
  await page.goto(`http://127.0.0.1:${foreign.port}/`);
  const framed = page.frames().find((frame) => frame !== page.mainFrame());
  await framed.waitForLoadState();
  assert.ok(!(await framed.content()).includes("passphrase") && !(await framed.content()).includes('value="approve"'), "the page is shown in a frame");
  console.log("browser: framing refused");

  await page.goto(ask());
  const request = await page.getAttribute('input[name="request"]', "value");
  foreignHTML = `<form method="post" action="${base}/consent"><input name="request" value="${request}"><button name="decision" value="approve">go</button></form>`;
  await page.goto(`http://127.0.0.1:${foreign.port}/`);
  const before = callbacks.length;
  const [refused] = await Promise.all([page.waitForResponse(/\/consent/), page.click("text=go")]);
  assert.equal(refused.status(), 403);
  assert.equal(callbacks.length, before);
  console.log("browser: post from another site refused, though the owner is logged in");

  await page.goto(ask("of-a-former-run"));
  if (folder) await page.screenshot({ path: `${folder}/consent-restarted.png` });
  assert.ok((await answerOf(() => press(page, "Back to the program"))).get("code"));
  console.log("browser: a forgotten client is sent back by a link");
  await close();
}

{
  const { page, close } = await visitor();
  await page.goto(ask());
  let status = 401;
  for (let tries = 0; status === 401 && tries < 8; tries++) {
    await page.fill("#passphrase", `guess ${tries}`);
    // Not the response alone: what is typed before its page is there would be lost.
    const [response] = await Promise.all([page.waitForNavigation(), page.click('button:has-text("Allow")')]);
    status = response.status();
  }
  assert.equal(status, 429);
  await page.waitForSelector("text=Too many attempts");
  if (folder) await page.screenshot({ path: `${folder}/consent-throttled.png` });
  console.log("browser: guesses are throttled");
  await close();
}

await browser.close();
client.server.close();
foreign.server.close();

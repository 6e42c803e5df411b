// Chromium, the owner's session in it, and an agent beside it, for the walks of this folder.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { Owner, passphrase } from "../oauth/owner.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const patience = 60_000;

export const launch = () => chromium.launch({
  timeout: patience,
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

const redirect = "https://claude.ai/api/mcp/auth_callback";
const send = (base, path, body, type) => fetch(base + path, { method: "POST", headers: type ? { "Content-Type": type } : {}, body });

// register registers a program and returns its id.
const register = async (base, name) =>
  (await (await send(base, "/register", JSON.stringify({ client_name: name, redirect_uris: [redirect] }), "application/json")).json()).client_id;

// asks returns the address where a registered program asks to be let in.
const asks = (base, id) => `${base}/authorize?${new URLSearchParams({
  client_id: id, redirect_uri: redirect, response_type: "code", state: "s",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256",
})}`;

// consent returns the address of the page on which the owner lets a program in.
export const consent = async (base, name) => asks(base, await register(base, name));

// approve lets a registered program in and returns its access token.
async function approve(base, id, owner) {
  const to = await owner.decide(asks(base, id));
  const token = await (await send(base, "/token", new URLSearchParams({
    grant_type: "authorization_code", client_id: id, code: to.searchParams.get("code"), redirect_uri: redirect,
    code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  }))).json();
  return token.access_token;
}

// client lets a program in and returns its access token.
export const client = async (base, name) => approve(base, await register(base, name), new Owner());

// tokens lets a program in many times, by an owner who stays logged in.
export async function tokens(base, name, count, each) {
  const id = await register(base, name), owner = new Owner();
  const all = [await approve(base, id, owner)];
  await each(count - 1, async () => all.push(await approve(base, id, owner)));
  return all;
}

// call calls a tool as an agent does.
export const call = (base, token, name = "get_positions", args = {}) => fetch(`${base}/mcp`, {
  method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
});

// agent returns a function that calls tools and reads their answers, errors of tools too.
export async function agent(base, name) {
  const token = await client(base, name);
  return async (tool, args) => JSON.parse((await (await call(base, token, tool, args)).json()).result.content[0].text);
}

// visitor returns a page that is logged in, and what went wrong on it.
export async function visitor(browser, base, options) {
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
export const submit = (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);

// findings returns what axe finds on a page by the rules of WCAG 2.2 AA.
export async function findings(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe }); // past the content policy, as tools of a browser are
  return page.evaluate(async () => (await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })).violations
    .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(" | ")}`));
}

// backtest has an agent test a rule, and returns the path of its page.
export async function backtest(claude) {
  const rsi = (op, value) => ({ value: { indicator: { name: "rsi", length: "$len" }, op, value } });
  const { report_id } = await claude("run_backtest", { symbol: "BTCUSDT", interval: "1h", bars: 2000,
    long: { enter: rsi("<", 35), exit: rsi(">", 60) }, sweep: { len: [10, 14, 20] } });
  return `/backtests/${report_id}`;
}

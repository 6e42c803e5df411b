// Chromium at the owner's console of a server that trades on paper: approve, refuse, cancel, set
// an alert, follow a fill to its alert, look at every page, halt, resume, revoke, log out; with
// script and without. axe finds nothing on any page in either theme or with other colours, no
// request leaves the host, and the content policy is never violated.
// usage: walk.mjs BASE_URL VENUE_URL
import assert from "node:assert/strict";
import { passphrase } from "../oauth/owner.mjs";
import { agent, backtest, call, client, findings, launch, submit, visitor } from "./browser.mjs";
import { strategy } from "./strategy.mjs";
import { trade } from "./trade.mjs";

const [base, venue] = process.argv.slice(2);
const browser = await launch();
const details = [], strategies = [];
for (const scripted of [true, false]) {
  const { page, wrong, close } = await visitor(browser, base, { javaScriptEnabled: scripted });
  details.push(...await trade(base, venue, page, scripted));
  strategies.push(...await strategy(base, page, scripted));
  assert.deepEqual(wrong, []);
  await close();
  console.log(`console: allowed, refused, cancelled, set an alert, followed a fill to its alert, and started and stopped a strategy, with${scripted ? "" : "out"} script`);
}

const pages = ["/", "/orders", "/trades?since=all", "/approvals", "/alerts", "/clients", "/activity", "/settings", "/more", "/halt", "/resume", "/clients/revoke-all",
  "/chart", "/alerts/new", "/scripts", "/scripts/ema_cross", "/strategies", ...strategies, await backtest(await agent(base, "Claude")), ...details.slice(0, details.length / 2)];
const token = await client(base, "Claude");
assert.equal((await call(base, token)).status, 200);

// Every page in dark and light; on a phone and in the other colours those that differ most, or
// all in the long form.
const long = process.env.LONGTEST === "1";
const most = ["/", "/orders", "/approvals", "/alerts", "/clients", details[0], "/chart/BTCUSDT", "/strategies", strategies[0]];
const asking = /resume|revoke-all|new|allow$/; // they look as the page that asks to halt
const forms = {
  dark: { colorScheme: "dark", paths: pages },
  light: { colorScheme: "light", paths: long ? pages : pages.filter((p) => !asking.test(p)) },
  phone: { colorScheme: "dark", viewport: { width: 390, height: 844 }, paths: long ? pages : most },
  "blue and orange": { colorScheme: "dark", blue: true, paths: long ? pages : ["/", "/orders", "/chart/BTCUSDT"] },
  "blue and orange, light": { colorScheme: "light", blue: true, paths: long ? pages : ["/", "/orders", "/chart/BTCUSDT"] },
};
const bad = [];
let visits = 0;
let paint = Infinity;
for (const [name, { paths, blue, ...options }] of Object.entries(forms)) {
  const { page, wrong, close } = await visitor(browser, base, options);
  if (blue) {
    await page.goto(`${base}/console/settings`);
    await submit(page, 'button:has-text("Blue and orange")');
    assert.equal(await page.getAttribute("html", "data-marks"), "blue");
  }
  for (const path of paths) {
    const answer = await page.goto(`${base}/console${path}`);
    assert.equal(answer.status(), 200, path);
    if (path.startsWith("/chart")) await page.waitForSelector("#chart canvas");
    for (const one of await findings(page)) bad.push(`${name} ${path} ${one}`);
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) bad.push(`${name} ${path} scrolls sideways`);
    const first = await page.evaluate(() => performance.getEntriesByName("first-paint")[0]?.startTime ?? Infinity);
    if (path === "/") paint = Math.min(paint, first);
    visits++;
  }
  for (const one of wrong) bad.push(`${name}: ${one}`);
  await close();
}
assert.deepEqual(bad, []);
console.log(`console: ${pages.length} pages, ${visits} visits in ${Object.keys(forms).length} forms, axe finds nothing, no request leaves the host; first paint of the overview ${Math.round(paint)} ms`);

for (const [name, options] of Object.entries({ script: {}, "no script": { javaScriptEnabled: false } })) {
  const { page, wrong, close } = await visitor(browser, base, options);
  const access = await client(base, `Client of ${name}`);
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
  assert.equal((await call(base, access)).status, 200);
  await page.goto(`${base}/console/clients`);
  await submit(page, `tr:has-text("Client of ${name}") a.sym`);
  await page.waitForSelector("text=get_positions");
  await page.goto(`${page.url()}/revoke`);
  await submit(page, 'main button:has-text("Revoke")');
  await page.waitForSelector("text=Revoked by you");
  assert.equal((await call(base, access)).status, 401);
  // All of it is in the log, whose chain holds.
  await page.goto(`${base}/console/activity?group=owner`);
  await page.waitForSelector("text=token_revoked");
  await submit(page, 'button:has-text("Verify now")');
  await page.waitForSelector("text=chain unbroken");
  // Looks.
  await page.goto(`${base}/console/settings`);
  await submit(page, 'button:has-text("Blue and orange")');
  assert.equal(await page.getAttribute("html", "data-marks"), "blue");
  if (name === "script") { // the chart of a Pine script follows them
    await submit(page, 'button:has-text("1.234,50")');
    await page.fill('input[name="zone"]', "Asia/Tokyo");
    await Promise.all([page.waitForNavigation(), page.press('input[name="zone"]', "Enter")]);
    await page.goto(`${base}/console/chart?symbol=BTCUSDT&indicators=ema_cross`);
    await page.waitForSelector("#chart .legend >> text=EMA cross");
    assert.match(await page.textContent("#chart .legend"), /C \d\d\.\d{3},\d\d/);
    assert.match(await page.getAttribute("#chart", "aria-label"), /:00 GMT\+9: open/);
  }
  if (name === "script") { // the palette, by the keyboard alone: it leads, and a command opens its question
    await page.goto(`${base}/console/`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("@claude");
    await page.waitForSelector("#palette .gh:has-text('Clients')");
    for (const one of await findings(page)) bad.push(`palette ${one}`);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.match(page.url(), /\/console\/clients\/./);
    await page.keyboard.press("Control+k");
    await page.keyboard.type(">halt");
    await page.waitForSelector("#palette .gh:has-text('Commands')");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#halt[open]");
    await page.keyboard.press("Escape");
    assert.deepEqual(bad, []);
  }
  await page.goto(`${base}/console/more`);
  await submit(page, 'main button:has-text("Log out")');
  await page.goto(`${base}/console/`);
  await page.waitForSelector("input[type=password]");
  assert.deepEqual(wrong.filter((w) => !/40[39]|422/.test(w)), []);
  console.log(`console: logged in, halted, resumed, revoked, verified and logged out, with ${name}`);
  await close();
}
await browser.close();

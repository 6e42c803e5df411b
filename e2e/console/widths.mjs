// Chromium at every page of the console, at the consent page, at the login and at the root, from
// phones to wide screens, dark and light, with the served font and with none, with script and
// without: no page is wider than the window, no value is cut, and nothing stands on something else.
// usage: widths.mjs BASE_URL
import assert from "node:assert/strict";
import { consent, launch, visitor } from "./browser.mjs";

const [base] = process.argv.slice(2);
const widths = [320, 390, 768, 1024, 1280, 1366, 1440, 1920, 2560];
const few = [320, 768, 1280, 1366]; // each on one side of where the layout changes
const heights = { 320: 568, 390: 844, 768: 1024, 1024: 768, 1280: 720, 1366: 768 };
const paths = ["/", "/orders", "/orders?since=all", "/trades", "/approvals", "/alerts", "/clients", "/activity", "/settings", "/more", "/halt", "/resume",
  "/clients/revoke-all", "/chart/BTCUSDT", "/chart?symbol=BTCUSDT&indicators=ema_cross,rsi", "/alerts/new", "/scripts", "/scripts/ema_cross", "/strategies", "/backtests/none"];
// The newest thing of each kind that has a page of its own.
const singles = { "/orders?since=all": 'a[href^="/console/orders/"]:not([href*="cancel"])', "/alerts": 'td a[href^="/console/alerts/"]', "/clients": 'a[href^="/console/clients/"]', "/strategies": 'a[href^="/console/strategies/"]' };

// measure runs in the page and lists what is wrong with how it fits.
async function measure() {
  for (let frame = 0; frame < 4 && document.querySelector("#chart canvas"); frame++) await new Promise((drawn) => requestAnimationFrame(drawn)); // a chart is laid out in frames
  const all = [];
  const name = (e) => `${e.localName}${e.id && `#${e.id}`}${[...e.classList].map((c) => `.${c}`).join("")} "${e.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) all.push(`the page is ${wide} px wider than the window`);
  const stands = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".vh, .skip, svg, #chart") && getComputedStyle(e).clipPath === "none";
  for (const e of document.body.querySelectorAll("*")) {
    if (!stands(e) || getComputedStyle(e).display === "inline" || e.clientWidth === 0) continue;
    if (e.matches(".source, input, textarea, select, form")) continue; // they scroll by their nature, or have a bar that goes to the edge
    const over = e.scrollWidth - e.clientWidth;
    if (over > 1) all.push(`${name(e)} is ${over} px wider than its place`);
  }
  const rows = [...document.querySelectorAll("#chart table > tr")].map((e) => e.getBoundingClientRect()); // panes, and a border between two
  document.querySelectorAll("#chart .legend").forEach((e, i) => {
    const pane = rows[2 * i], { top } = e.getBoundingClientRect();
    if (pane && (top < pane.top || top > pane.bottom)) all.push(`the legend ${name(e)} is outside its pane`);
  });
  for (const bar of document.querySelectorAll(".top, .head, .panel > header, .filters, .cbar, .kpis, td, dd")) {
    const parts = [...bar.children].flatMap((e) => (getComputedStyle(e).display === "contents" ? [...e.children] : [e])).filter((e) => stands(e) && getComputedStyle(e).position === "static" && getComputedStyle(e).display !== "inline");
    const boxes = parts.map((e) => e.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++) {
      for (let j = i + 1; j < boxes.length; j++) {
        const [a, b] = [boxes[i], boxes[j]];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) all.push(`${name(parts[i])} stands on ${name(parts[j])}`);
      }
    }
  }
  return all;
}

const long = process.env.LONGTEST === "1";
const browser = await launch();
const bad = new Map();
let measured = 0;

// fits measures the page that is open at every width in the dark, and at a few in the light; at a few only if most
// of it was measured in another form. The long form measures everything.
async function fits(page, what, again) {
  for (const width of again && !long ? few : widths) {
    await page.setViewportSize({ width, height: heights[width] ?? 900 });
    for (const colorScheme of long || (!again && few.includes(width)) ? ["dark", "light"] : ["dark"]) {
      await page.emulateMedia({ colorScheme });
      measured++;
      for (const one of await page.evaluate(measure)) {
        bad.set(one, [...(bad.get(one) ?? []), `${what} at ${width}`]);
      }
    }
  }
}

const forms = { "served font": {}, "no font": { font: false }, "no script": { javaScriptEnabled: false } };
const only = process.env.E2E_PAGES?.split(",");
for (const [form, { font = true, ...options }] of Object.entries(forms)) {
  const { page, close } = await visitor(browser, base, options);
  if (!font) await page.route("**/*.woff", (route) => route.abort());
  const open = async (path) => {
    if (only && !only.includes(path)) return;
    await page.goto(base + path);
    if (font && options.javaScriptEnabled !== false) assert.ok(await page.evaluate(() => document.fonts.ready.then((all) => all.check("14px Roboto") && [...all].some((f) => f.status === "loaded"))), `${path}: the served font is not used`);
    if (path.startsWith("/console/chart") && options.javaScriptEnabled !== false) await page.waitForSelector("#chart canvas");
    await fits(page, `${form} ${path.split("?client_id")[0]}`, form !== "served font");
  };
  for (const path of paths) {
    await open(`/console${path}`);
    const [one] = singles[path] ? await page.locator(singles[path]).all() : [];
    if (one) await open(await one.getAttribute("href"));
  }
  await open("/");
  await open((await consent(base, "An assistant with a name of some length")).slice(base.length));
  await page.context().clearCookies();
  await open("/console/");
  await close();
}
await browser.close();
assert.deepEqual([...bad].map(([what, where]) => `${what}: ${[...new Set(where)].slice(0, 4).join(", ")}`), []);
console.log(`console: ${measured} measurements at ${widths.length} widths: no page is wider than the window, and no value is cut`);

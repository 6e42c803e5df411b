// Pictures of every page of the console, dark and light, at 1440x900 and 390x844, of an
// account in which agents have done a little of everything. For eyes; nothing is checked.
// usage: pictures.mjs BASE_URL VENUE_URL FOLDER
import { agent, backtest, launch, submit, visitor } from "./browser.mjs";
import { strategy } from "./strategy.mjs";
import { at, place, until } from "./trade.mjs";
import { passphrase } from "../oauth/owner.mjs";

const [base, venue, folder] = process.argv.slice(2);
const limit = (symbol, side, quantity, price, more) => ({ symbol, side, type: "limit", quantity, price, ...more });

// natural returns a function that names a price by its part of what the venue trades at.
async function natural(symbol, digits, api = "api/v3") {
  const [bar] = await (await fetch(`${venue}/${api}/klines?symbol=${symbol}&interval=1m&limit=1`)).json();
  return (part) => Number((Number(bar[4]) * part).toFixed(digits));
}

// scene trades on paper, and returns the addresses of pages about single things.
async function scene(page) {
  const claude = await agent(base, "Claude"), cursor = await agent(base, "Cursor");
  const btc = await natural("BTCUSDT", 2), eth = await natural("ETHUSDT", 2), sol = await natural("SOLUSDT", 2), perp = await natural("BTCUSDT", 1, "fapi/v1");
  const many = (price, worth, digits) => Number((worth / price(1)).toFixed(digits));
  await at(venue, btc(1));
  await until(claude, "place_order", { ...limit("BTCUSDT", "buy", 0.001, btc(0.999)), dry_run: true }, (s) => s.dry_run);
  const { alert_id: fired } = await claude("set_alert", { symbol: "BTCUSDT", condition: { price_below: btc(0.997) }, note: "Range low. Look for a bounce, else stand aside." });
  await place(cursor, limit("SOLUSDT", "buy", many(sol, 450, 2), sol(1.01)), "filled");
  await place(claude, limit("ETHUSDT", "buy", many(eth, 800, 1), eth(1.01)), "filled");
  await at(venue, btc(0.9965));
  await until(claude, "get_notifications", { wait_seconds: 30 }, (s) => JSON.stringify(s).includes(fired));
  const filled = await place(claude, limit("BTCUSDT", "buy", many(btc, 950, 3), btc(1), { stop_loss: btc(0.97), take_profit: btc(1.05) }), "filled");
  await cursor("place_order", limit("BTCUSDT", "buy", many(btc, 9000, 3), btc(0.995)));
  const { order_id } = await claude("place_order", limit("ETHUSDT", "buy", many(eth, 300, 1), eth(0.98)));
  await claude("cancel_order", { order_id });
  await place(claude, limit("ETHUSDT", "sell", many(eth, 300, 1), eth(1.03)), "accepted");
  await place(claude, limit("BTCUSDT", "buy", many(btc, 500, 3), btc(0.985)), "accepted");
  const refused = await place(claude, limit("BTCUSDT", "buy", many(btc, 1500, 3), btc(0.985)), "pending_approval");
  await page.goto(`${base}/console/approvals/${refused}/refuse`);
  await page.fill("#ask-form [name=reason]", "too close to the news");
  await submit(page, '#ask-form button:has-text("Refuse")');
  await claude("set_alert", { symbol: "BTCUSDT", condition: { price_below: btc(0.97) }, note: "cut half if it breaks" });
  await claude("set_alert", { symbol: "BTCUSDT", condition: { price_above: btc(1.03) }, note: "back over the 50 EMA" });
  await cursor("set_alert", { symbol: "ETHUSDT", interval: "1h", condition: { indicator_signal: { indicator: "rsi", signal: "rsi_oversold" } } });
  const because = [
    { interval: "1h", value: { indicator: "rsi", op: "<=", value: 100 } },
    { interval: "4h", any: [{ value: { price: "close", op: ">", value: { indicator: "sma200" } } }, { value: { price: "close", op: "<=", value: { indicator: "sma200" } } }] },
    { price_below: btc(0.999) }, // which is false when the owner looks
  ];
  const asked = await place(claude, limit("BTCUSDT", "buy", many(btc, 1900, 3), btc(0.993), { note: "Price came back above the 1h low and RSI turned up from 32. I would cut below the last low.", because }), "pending_approval");
  const short = (worth) => ({ symbol: "BTCUSDT.P", side: "sell", type: "market", quantity: many(perp, worth, 3), stop_loss: perp(1.03), take_profit: perp(0.95) });
  await place(claude, short(900), "filled");
  await place(claude, short(1200), "pending_approval");
  await at(venue, btc(1.001));
  const [running, stop] = await strategy(base, page, true);
  return { strategy: running, "strategy-stop": stop, strategies: "/strategies", backtest: await backtest(claude), order: `/orders/${filled}`, alert: `/alerts/${fired}`, approval: `/approvals/${asked}`, reasons: `/orders/${asked}`, allow: `/approvals/${asked}/allow` };
}

const browser = await launch();
const first = await visitor(browser, base, {});
const details = await scene(first.page);
await first.close();
const pages = {
  overview: "/", chart: "/chart/BTCUSDT", approvals: "/approvals", orders: "/orders", alerts: "/alerts", scripts: "/scripts", script: "/scripts/ema_cross", "chart-script": "/chart?symbol=BTCUSDT&indicators=ema_cross,rsi", clients: "/clients", activity: "/activity",
  settings: "/settings", more: "/more", halt: "/halt", resume: "/resume", "revoke-all": "/clients/revoke-all", "alert-new": "/alerts/new", ...details,
};
const wide = { width: 1440, height: 900 }, phone = { width: 390, height: 844 };
const forms = { dark: [wide, "dark"], light: [wide, "light"], "phone-dark": [phone, "dark"], "phone-light": [phone, "light"] };
const only = process.env.E2E_PAGES?.split(",");
for (const [form, [viewport, colorScheme]] of Object.entries(forms)) {
  const { page, close } = await visitor(browser, base, { viewport, colorScheme });
  for (const [name, path] of Object.entries(pages)) {
    if (only && !only.includes(name)) continue;
    await page.goto(base + "/console" + path);
    if (name.startsWith("chart")) await page.waitForSelector("#chart canvas");
    await page.screenshot({ path: `${folder}/${name}-${form}.png` });
  }
  await close();
}
// The frame while trading is halted, the dialog that asks for it, and the pages without a login.
for (const [form, [viewport, colorScheme]] of Object.entries(forms)) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const shot = (name) => page.screenshot({ path: `${folder}/${name}-${form}.png` });
  await page.goto(`${base}/`);
  await shot("root");
  await page.goto(`${base}/console/`);
  await shot("login");
  await page.fill("input[type=password]", passphrase);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await page.click('header a[href="/console/halt"]');
  await page.waitForSelector("dialog#halt[open]");
  await shot("halt-dialog");
  if (form === "phone-light") {
    await submit(page, 'dialog#halt[open] button:has-text("Halt now")');
    for (const [look, scheme, size] of [["dark", "dark", wide], ["light", "light", wide], ["phone-dark", "dark", phone], ["phone-light", "light", phone]]) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`${base}/console/`);
      await page.screenshot({ path: `${folder}/halted-${look}.png` });
    }
  }
  await context.close();
}
await browser.close();
console.log(`console: pictures are in ${folder}`);

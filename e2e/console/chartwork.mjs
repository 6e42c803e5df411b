// Work on the chart: drawings by hand and by an agent, and levels of an order, a stop and an alert that are moved by mouse
// and by keyboard, refused where the guard refuses. The second time, after a restart, it looks whether all of it is there.
// usage: chartwork.mjs BASE_URL VENUE_URL draw|look [FOLDER]
import assert from "node:assert/strict";
import { agent, findings, launch, visitor } from "./browser.mjs";
import { at, place, until } from "./trade.mjs";

const [base, venue, phase, folder] = process.argv.slice(2);
const page_of = `${base}/console/chart?symbol=BTCUSDT&interval=1h&indicators=ema_stack`;
const [bar] = await (await fetch(`${venue}/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=1`)).json();
const now = Number(bar[4]), part = (p) => Number((now * p).toFixed(2));
// text is how the server writes a price.
const text = (price) => String(Number(price.toFixed(2)));
const shot = async (page, name) => folder && page.screenshot({ path: `${folder}/${name}.png` });

// ready opens the chart and waits until its levels and drawings are there.
async function ready(page, grips) {
  await page.goto(page_of);
  await page.waitForSelector("#chart canvas");
  await page.waitForFunction((n) => document.querySelectorAll(".grip:not([hidden])").length >= n, grips);
  await page.waitForSelector("#chart[data-drawings]");
}

// middle is where an element is.
const middle = async (page, selector) => {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  return [x + width / 2, y + height / 2];
};

// drag moves a level by pixels with the mouse, and waits for the card.
async function drag(page, selector, by) {
  const [x, y] = await middle(page, selector);
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (const step of [0.3, 0.6, 1]) await page.mouse.move(x, y + by * step);
  await page.mouse.up();
  await page.waitForSelector("#c-mover:not([hidden])");
}

const valueOf = (page, selector) => page.locator(selector).getAttribute("aria-valuenow").then(Number);
const gone = (page) => page.waitForSelector("#c-mover", { state: "hidden" });

async function levels(page, tools) {
  const open = async () => tools("get_orders", { filter: "open" });
  // By mouse, and back: nothing is sent.
  const before = JSON.stringify(await open());
  await drag(page, ".grip.order", 30);
  const to = await valueOf(page, ".grip.order");
  assert.match(await page.textContent("#c-mover"), /From .* to .*value/s);
  await shot(page, "order-moved");
  await page.keyboard.press("Escape");
  await gone(page);
  assert.equal(JSON.stringify(await open()), before, "a level that was put back sent something");
  // By mouse, and set: another order has its place.
  await drag(page, ".grip.order", 30);
  await page.click("#c-mover .acts button");
  await gone(page);
  const moved = await until(tools, "get_orders", { filter: "open" }, (all) => all.some((o) => o.replaces));
  const order = moved.find((o) => o.replaces);
  assert.ok(Math.abs(Number(order.price) - to) < now * 0.002 && Number(order.price) < part(0.99), `${order.price}, not ${to}`);
  await page.waitForSelector(`a[href="/console/orders/${order.order_id}/move"]`);
  // The stop by keyboard, nearer to the price: a tick, ten, and Enter twice.
  const stop = ".grip.stop", of = () => page.getAttribute(stop, "data-move"), old = await of(), was = await valueOf(page, stop);
  await page.focus(stop);
  for (const key of ["ArrowUp", "Shift+ArrowUp", "PageUp"]) await page.keyboard.press(key);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#c-mover:not([hidden]) .acts button:focus");
  await shot(page, "stop-moved");
  await page.keyboard.press("Enter");
  await gone(page);
  const nearer = was + 0.21;
  await until(tools, "get_positions", {}, (all) => JSON.stringify(all).includes(text(nearer)));
  // A stop that is farther away is refused, with the rule, and stays where it was.
  await page.waitForFunction((to) => ![null, undefined, to].includes(document.querySelector(".grip.stop")?.dataset.move), old);
  assert.ok(Math.abs((await valueOf(page, stop)) - nearer) < 0.005);
  await drag(page, stop, 25);
  assert.match(await page.textContent("#c-mover"), /Would be denied now.*wider/s);
  await page.click("#c-mover .acts button");
  await page.waitForSelector('#c-mover .mistake:has-text("wider")');
  await shot(page, "refused");
  await page.click("#c-mover [data-close]");
  await gone(page);
  assert.ok(Math.abs((await valueOf(page, stop)) - nearer) < 0.005);
  assert.ok(JSON.stringify(await tools("get_positions", {})).includes(text(nearer)), "the stop moved though it was refused");
  // The alert by keyboard, then by mouse.
  const alert = ".grip.alert", low = await valueOf(page, alert);
  await page.focus(alert);
  for (let i = 0; i < 5; i++) await page.keyboard.press("PageDown");
  await page.waitForSelector("#c-mover:not([hidden])"); // it comes by itself
  await page.keyboard.press("Enter");
  await page.waitForSelector("#c-mover .acts button:focus");
  await page.keyboard.press("Enter");
  await gone(page);
  const [one] = await until(tools, "list_alerts", {}, (all) => all.length === 1 && JSON.stringify(all).includes(text(low - 0.5)));
  await page.waitForSelector(`a[href="/console/alerts/${one.alert_id}/move"]`);
  await drag(page, alert, -20);
  await page.click("#c-mover .acts button");
  await gone(page);
  await until(tools, "list_alerts", {}, (all) => all.length === 1 && all[0].alert_id !== one.alert_id);
}

async function draw(page, tools) {
  const chart = await page.locator("#chart").boundingBox(), dot = (x, y) => [chart.x + chart.width * x, chart.y + chart.height * y];
  const kept = async (n) => (await until(tools, "list_drawings", { symbol: "BTCUSDT" }, (s) => s.drawings?.length === n)).drawings;
  // A line by dragging, a rectangle by two clicks, a level by one, a text with its words.
  await page.click('[data-tool="line"]');
  await page.mouse.move(...dot(0.25, 0.55));
  await page.mouse.down();
  await page.mouse.move(...dot(0.35, 0.5));
  await page.mouse.move(...dot(0.45, 0.4));
  await page.mouse.up();
  await kept(2);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+B");
  await page.mouse.click(...dot(0.2, 0.3));
  await page.mouse.click(...dot(0.3, 0.22));
  await kept(3);
  await page.keyboard.press("Escape");
  await page.click('[data-tool="level"]');
  await page.mouse.click(...dot(0.5, 0.2));
  await kept(4);
  await page.click('[data-tool="text"]');
  await page.mouse.click(...dot(0.15, 0.65));
  await page.fill("#c-words-text", "range low");
  await page.keyboard.press("Enter");
  const text = (await kept(5)).find((d) => d.type === "text");
  assert.equal(text.text, "range low");
  assert.equal(text.by, "console");
  // With the keyboard alone: a retracement in the middle, moved, and one more that is removed again.
  await page.keyboard.press("Alt+F");
  await page.keyboard.press("Enter");
  const fib = (await kept(6)).find((d) => d.type === "fib");
  await page.waitForSelector('#c-erase[aria-disabled="false"]');
  await page.keyboard.press("Shift+ArrowLeft");
  await until(tools, "list_drawings", { symbol: "BTCUSDT" }, (s) => s.drawings.find((d) => d.drawing_id === fib.drawing_id).time < fib.time);
  await page.keyboard.press("Alt+M");
  await page.keyboard.press("Enter");
  await kept(7);
  await page.waitForSelector('#c-erase[aria-disabled="false"]');
  await page.keyboard.press("Delete");
  await kept(6);
  await shot(page, "drawn");
  // The agent's picture has what was drawn by hand.
  const seen = await tools("generate_chart", { symbol: "BTCUSDT", interval: "1h", bars: 300, indicators: [], format: "summary", saved_drawings: true });
  assert.deepEqual(seen.drawings.map((d) => d.type).toSorted(), ["box", "fib", "level", "line", "line", "text"]);
}

const browser = await launch();
try {
  const { page, wrong, close } = await visitor(browser, base);
  const tools = await agent(base, "Claude");
  if (phase === "draw") {
    await at(venue, now);
    await until(tools, "place_order", { symbol: "BTCUSDT", side: "buy", type: "limit", quantity: 0.001, price: part(0.99), dry_run: true }, (s) => s.dry_run);
    const size = Number((500 / now).toFixed(3));
    await place(tools, { symbol: "BTCUSDT", side: "buy", type: "limit", quantity: size, price: part(1.001), stop_loss: part(0.98), take_profit: part(1.02) }, "filled");
    await place(tools, { symbol: "BTCUSDT", side: "buy", type: "limit", quantity: size, price: part(0.99) }, "accepted");
    await tools("set_alert", { symbol: "BTCUSDT", condition: { price_above: part(1.01) }, note: "top" });
    const day = (back) => new Date(Math.floor(Date.now() / 3600e3 - back) * 3600e3).toISOString();
    await until(tools, "set_drawing", { symbol: "BTCUSDT", type: "line", time: day(60), price: part(0.985), time2: day(10), price2: part(1.005), text: "agent's line" }, (s) => s.drawing_id);
  }
  await ready(page, 4);
  await page.waitForFunction(() => document.querySelector("#chart").dataset.drawings.split(" ").includes("line")); // the agent's
  if (phase === "draw") {
    await levels(page, tools);
    await draw(page, tools);
    assert.deepEqual(await findings(page), []);
  } else {
    assert.equal(await page.getAttribute("#chart", "data-drawings"), "line line box level text fib");
    assert.deepEqual((await tools("list_drawings", { symbol: "BTCUSDT" })).drawings.map((d) => d.type), ["line", "line", "box", "level", "text", "fib"]);
    for (const [name, size] of Object.entries({ desk: [1440, 900], tablet: [768, 1024], phone: [390, 844] })) {
      if (!folder) break;
      await page.setViewportSize({ width: size[0], height: size[1] });
      for (const theme of ["dark", "light"]) {
        await page.evaluate((t) => { document.documentElement.dataset.theme = t; document.dispatchEvent(new Event("themechange")); }, theme);
        await page.waitForTimeout(400);
        await shot(page, `${name}-${theme}`);
      }
    }
  }
  assert.deepEqual(wrong.filter((w) => !w.includes("status of 422")), []); // what the guard refused
  await close();
} finally {
  await browser.close();
}
console.log(`console: work on the chart, ${phase === "draw" ? "by mouse and by keyboard" : "after a restart"}: ok`);

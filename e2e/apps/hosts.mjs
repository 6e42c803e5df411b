// The chart of generate_chart in two hosts of MCP Apps: picture, pan, zoom, live prices,
// theme, and a sentence after a click; no request and no call that the user does not see.
// usage: hosts.mjs MCP_URL INSPECTOR_URL MCPUSE_URL SERVER_LOG [SCREENSHOTS]
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [mcp, inspectorURL, mcpuseURL, serverLog, shots] = process.argv.slice(2);
const patience = 120_000; // to end a hang

const loopback = (url) => ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);

// call calls a tool as the model would.
async function call(name, args) {
  const answer = await fetch(mcp, {
    method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  const { result } = await answer.json();
  assert.ok(!result.isError, JSON.stringify(result));
  return JSON.parse(result.content[0].text);
}

const inspector = {
  name: "inspector",
  async open(page) {
    await page.goto(inspectorURL);
    await page.getByLabel('Connect or disconnect "candela"').click({ force: true });
    await page.getByText("Apps", { exact: true }).first().click();
    await page.getByText("generate_chart").first().click();
    await page.getByLabel("symbol", { exact: true }).fill("BTCUSDT");
    await page.getByLabel("interval", { exact: true }).fill("1m");
    await page.getByRole("button", { name: "Open App" }).click();
  },
  theme: (page) => page.getByLabel("Toggle color scheme").click(),
};

const mcpuse = {
  name: "mcp-use",
  async open(page) {
    await page.goto(mcpuseURL);
    await page.getByText("generate_chart").first().click();
    await page.locator("#symbol").fill("BTCUSDT");
    await page.locator("#interval").fill("1m");
    await page.getByRole("button", { name: /^Execute/ }).click();
  },
  async theme(page) {
    await page.getByLabel("Theme", { exact: true }).first().click();
    await page.getByText("Dark", { exact: true }).first().click();
  },
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  // Chromium ignores clicks into the frame of another site for half a second after that
  // frame has moved, and the hosts move theirs as the chart grows.
  args: ["--no-sandbox", "--disable-features=DiscardInputEventsToRecentlyMovedFrames"],
});

// appFrame returns the frame of the chart, once it has drawn.
async function appFrame(page) {
  const end = Date.now() + patience;
  while (Date.now() < end) {
    for (const frame of page.frames()) {
      if ((await frame.locator("#chart[data-range] canvas").count().catch(() => 0)) > 0) return frame;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("no frame shows a chart: " + page.frames().map((f) => f.url()).join(" "));
}

// until waits for a check to hold, and fails with what it last saw.
async function until(what, read, check) {
  const end = Date.now() + patience;
  let seen;
  do {
    seen = await read();
    if (check(seen)) return seen;
    await new Promise((done) => setTimeout(done, 50));
  } while (Date.now() < end);
  throw new Error(`${what}: ${JSON.stringify(seen)}`);
}

async function judge(host) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 1100 }, colorScheme: "light" });
  page.setDefaultTimeout(patience);
  const wrong = [];
  let app = null;
  // The hosts ask for fonts and count their use; the page must not.
  await page.route((url) => url.protocol.startsWith("http") && !loopback(url.href), (route) => route.abort());
  page.on("request", (request) => {
    if (app && request.frame() === app && !/^(data|blob|about):/.test(request.url())) wrong.push(`request ${request.url()}`);
  });
  // A host animates its change of theme, and skips the transition when its next one begins. The chart has none.
  page.on("pageerror", (error) => {
    if (!error.message.startsWith("Transition was skipped")) wrong.push(`error ${error.message}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text()) && /srcdoc|sandbox/.test(message.location().url)) wrong.push(message.text());
  });
  const picture = (name) => (shots ? page.screenshot({ path: `${shots}/apps-${host.name}-${name}.png` }) : null);

  await host.open(page);
  app = await appFrame(page);
  const chart = app.locator("#chart");
  const text = (selector) => app.locator(selector).first().innerText();
  const range = async () => (await chart.getAttribute("data-range")).split(" ").map(Number);

  // The picture: bars, two panes, and the levels of the account, which come last.
  assert.equal(await text("#title"), "BTCUSDT 1m");
  await until("the legends", () => app.locator(".legend").allInnerTexts(), (all) => all.length === 3 && /^EMA/m.test(all[0]) && all[1].startsWith("Cipher B") && all[2].startsWith("MACD"));
  assert.ok((await app.locator("#chart canvas").count()) >= 12);
  assert.match(await text("#credit"), /TradingView/);
  await until("the status", () => text("#status"), (status) => status === "");
  assert.equal(await app.locator("html").getAttribute("data-theme"), "light");
  await chart.scrollIntoViewIfNeeded();
  await picture("1-light");

  // Zoom by button and wheel, pan by mouse.
  const [from, to] = await range();
  await app.locator("#in").click();
  const zoomed = await until("zoom", range, ([f, t]) => t - f < (to - from) * 0.9);
  const box = await chart.boundingBox();
  const middle = { x: box.x + box.width / 2, y: box.y + 120 };
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.wheel(0, -300);
  const wheeled = await until("wheel", range, ([f, t]) => t - f < (zoomed[1] - zoomed[0]) * 0.95);
  await page.mouse.down();
  await page.mouse.move(middle.x + 150, middle.y, { steps: 6 });
  await page.mouse.up();
  await until("pan", range, ([, t]) => t < wheeled[1] - 3);
  await picture("2-panned");
  await app.locator("#reset").click();
  await until("the newest bars", range, ([, t]) => t > wheeled[1] - 3);

  // Live prices, only once the user asks for them.
  await page.mouse.move(5, 5);
  const before = await text(".legend");
  // Each switch to live asks at once, which takes less time than to wait for the next turn.
  const live = app.locator("#live");
  await until("a new price", async () => {
    await live.click();
    await app.locator("#live[aria-pressed=true]").waitFor();
    await new Promise((done) => setTimeout(done, 500));
    const now = await text(".legend");
    if (now === before) await live.click();
    return now;
  }, (legend) => legend !== before);
  await picture("3-live");
  await live.click();

  // The theme of the host.
  await host.theme(page);
  await until("the theme", () => app.locator("html").getAttribute("data-theme"), (theme) => theme === "dark");
  // The ground is the colour of most points: a line of the grid may cross any of them.
  await until("the colours", () => app.evaluate(() => {
    const { data } = document.querySelector("#chart canvas").getContext("2d").getImageData(0, 0, 40, 40);
    const count = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const color = data.slice(i, i + 3).join();
      count.set(color, (count.get(color) ?? 0) + 1);
    }
    return [...count].sort((x, y) => y[1] - x[1])[0][0];
  }), (color) => color === "19,23,34");
  await picture("4-dark");

  // A click prepares a sentence; sending it is a second act.
  const alerts = (await call("list_alerts", {})).length;
  const now = await chart.boundingBox();
  await page.mouse.click(now.x + now.width / 3, now.y + 100);
  const sentence = await app.locator("#sentence").inputValue();
  assert.match(sentence, /^Prepare an alert for BTCUSDT (above|below) \d+\.\d\d; ask me before setting it\.$/);
  await picture("5-sentence");
  // A click into a frame that has just moved can be lost, so a person clicks again.
  const send = app.locator("#send");
  const sent = await until("sent", async () => {
    if (await send.isVisible()) await send.click({ timeout: 5000 }).catch(() => {});
    await new Promise((done) => setTimeout(done, 500));
    return text("#status");
  }, (status) => /^(Sent to the conversation|The assistant reads it|Not sent: )/.test(status));
  assert.equal((await call("list_alerts", {})).length, alerts);
  assert.deepEqual(wrong, []);
  await page.close();
  return `${host.name}: picture, zoom, pan, live, theme, "${sentence}": ${sent}`;
}

try {
  await call("set_alert", { symbol: "BTCUSDT", condition: { price_above: 53400 } });
  await call("place_order", { symbol: "BTCUSDT", side: "buy", type: "market", quantity: 0.01 });
  await call("place_order", { symbol: "BTCUSDT", side: "buy", type: "limit", quantity: 0.02, price: 51900 });
  for (const host of [inspector, mcpuse]) console.log(await judge(host));
  // What the pages called: nothing but the chart.
  const called = new Set([...readFileSync(serverLog, "utf8").matchAll(/method=tools\/call tool=(\w+)/g)].map((m) => m[1]));
  assert.deepEqual([...called].sort(), ["generate_chart", "list_alerts", "place_order", "set_alert"]);
} finally {
  await browser.close();
}

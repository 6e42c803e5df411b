// The owner decides and an agent trades on paper, at prices that the test sets: orders that
// need approval are allowed and refused, an open one is cancelled, an alert is set and fires,
// and a fill turns up on the open page by itself and leads to the alert that it answered.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, submit } from "./browser.mjs";

// at holds the price of a symbol at the fake venue, in its bars and streams too.
export const at = async (venue, price, symbol = "BTCUSDT") => {
  const answer = await fetch(`${venue}/fake/fix?symbol=${symbol}&price=${price}`, { method: "POST" });
  assert.equal(answer.status, 200);
};

// live opens a page and waits until its stream is open: what happens before it is in the page, and no news.
const live = async (page, scripted, url) => {
  const opened = scripted && page.waitForResponse((r) => r.url().endsWith("/console/events"));
  await page.goto(url);
  await opened;
};

const buy = (quantity, price) => ({ symbol: "BTCUSDT", side: "buy", type: "limit", quantity, price });

// until calls a tool until its answer is as wanted.
export async function until(tools, name, args, good) {
  for (let tries = 0; ; tries++) {
    const said = await tools(name, args);
    if (good(said)) return said;
    assert.ok(tries < 600 && (said.retryable ?? true), `${name} says ${JSON.stringify(said)}`);
    await sleep(100);
  }
}

// place places an order and expects its status.
export async function place(tools, args, status) {
  const said = await until(tools, "place_order", args, (s) => s.code !== "not_compared" && s.code !== "unreconciled");
  assert.equal(said.status, status, JSON.stringify(said));
  return said.order_id;
}

// press follows a link to a form, which a page with script opens as a dialog, and sends it.
export async function press(page, scripted, link, button, fill = {}) {
  if (scripted) await page.click(link);
  else await submit(page, link);
  const form = scripted ? "dialog[open] #ask-form" : "#ask-form";
  await page.waitForSelector(form);
  for (const [name, value] of Object.entries(fill)) {
    const field = `${form} [name=${name}]`;
    if (await page.$eval(field, (e) => e.tagName) === "SELECT") await page.selectOption(field, value);
    else await page.fill(field, value);
  }
  await submit(page, `${form} button:has-text("${button}")`);
}

// whole holds that everything in the cards of orders is inside them, on a desk and on a phone.
async function whole(page) {
  const before = page.viewportSize();
  for (const size of [before, { width: 390, height: 844 }]) {
    await page.setViewportSize(size);
    const outside = await page.evaluate(() => [...document.querySelectorAll("article.order *")].filter((part) => {
      const card = part.closest("article").getBoundingClientRect(), { left, right, width } = part.getBoundingClientRect();
      return width > 0 && (left < card.left || right > card.right);
    }).map((part) => `${part.tagName} ${part.className}: ${part.textContent}`));
    assert.deepEqual(outside, [], `cards at ${size.width}`);
  }
  await page.setViewportSize(before);
}

// denied looks at orders that wait while a limit denies them, because the price moved.
async function denied(base, venue, page, tools) {
  const asked = [await place(tools, buy(0.03, 49450), "pending_approval"), await place(tools, { symbol: "BTCUSDT", side: "buy", type: "market", quantity: 0.03 }, "pending_approval")];
  await at(venue, 58000);
  for (let tries = 0; ; tries++) {
    await page.goto(`${base}/console/approvals`);
    if (await page.locator("article.order .st.warn").count() >= 3) break; // a limit of each, and how far the price moved
    assert.ok(tries < 600, await page.textContent("main"));
    await sleep(100);
  }
  await whole(page);
  await at(venue, 50000);
  for (const order_id of asked) await tools("cancel_order", { order_id });
  for (let tries = 0; !(await tools("place_order", { ...buy(0.001, 49900), dry_run: true })).dry_run; tries++) {
    assert.ok(tries < 60, "the price came back and is not seen");
    await sleep(1000); // dry runs are counted
  }
}

// trade walks through all of it in a page and returns the addresses of detail pages.
export async function trade(base, venue, page, scripted) {
  const name = scripted ? "Claude" : "Cursor";
  const tools = await agent(base, name);
  await at(venue, 50000);
  await until(tools, "place_order", { ...buy(0.001, 49900), dry_run: true }, (s) => s.dry_run);

  if (scripted) await denied(base, venue, page, tools);
  // Approve, and see the order at the venue.
  const yes = await place(tools, buy(0.03, 49500), "pending_approval");
  await page.goto(`${base}/console/approvals`);
  await page.waitForSelector(`article:has-text("0.03 BTCUSDT"):has-text("${name}")`);
  await press(page, scripted, `a[href="/console/approvals/${yes}/allow"]`, "Allow");
  await page.waitForSelector("text=Allowed. The order is accepted.");
  // Refuse another with a reason, which the agent reads.
  const no = await place(tools, buy(0.03, 49400), "pending_approval");
  await page.goto(`${base}/console/approvals/${no}`);
  await press(page, scripted, `a[href="/console/approvals/${no}/refuse"]`, "Refuse", { reason: "too close to the news" });
  await page.waitForSelector("text=Refused. Nothing was sent.");
  const refused = (await tools("get_orders", {})).find((o) => o.order_id === no);
  assert.equal(refused.status, "denied");
  assert.match(refused.reject_reason, /too close to the news/);
  // Cancel an open one.
  await page.goto(`${base}/console/orders`);
  await press(page, scripted, `.scroll a[href="/console/orders/${yes}/cancel"]`, "Cancel order");
  await page.waitForSelector("text=Canceled: Buy 0.03 BTCUSDT");
  assert.equal((await tools("get_orders", {})).find((o) => o.order_id === yes).status, "canceled");

  // The owner sets an alert; the agent sets one and answers it with an order.
  await page.goto(`${base}/console/alerts`);
  await press(page, scripted, 'a[href="/console/alerts/new"]', "Set alert", { symbol: "BTCUSDT", when: "above", price: "70000", note: `by hand with ${name}` });
  await page.waitForSelector(`td:has-text("by hand with ${name}")`);
  const { alert_id } = await tools("set_alert", { symbol: "BTCUSDT", condition: { price_below: 49800 }, note: "buy the dip" });
  await live(page, scripted, `${base}/console/alerts`);
  await page.waitForSelector(`tr[data-href="/console/alerts/${alert_id}"]:has-text("49,800")`);
  await at(venue, 49750);
  if (scripted) await page.waitForSelector('a.toast:has-text("Alert fired: BTCUSDT price below 49,800")');
  await until(tools, "get_notifications", { wait_seconds: 30 }, (s) => JSON.stringify(s).includes(alert_id));
  const fill = await place(tools, buy(0.01, 49700), "accepted");
  await live(page, scripted, `${base}/console/orders`);
  await page.waitForSelector(`tr[data-href="/console/orders/${fill}"]:has-text("accepted")`);
  await at(venue, 49650);
  if (scripted) {
    // The page says so by itself, and shows the order as filled.
    await page.waitForSelector(`a.toast[href="/console/orders/${fill}"]:has-text("Bought 0.01 BTCUSDT at 49,700")`);
    await page.waitForSelector(`tr[data-href="/console/orders/${fill}"]:has-text("filled")`);
    await submit(page, `a.toast[href="/console/orders/${fill}"]`);
  } else {
    await until(tools, "get_orders", {}, (all) => all.find((o) => o.order_id === fill).status === "filled");
    await page.goto(`${base}/console/orders`);
    await submit(page, `tr[data-href="/console/orders/${fill}"]:has-text("filled") a.sym`);
  }
  // From the fill to its alert in one click, and back.
  await submit(page, `main a[href="/console/alerts/${alert_id}"]`);
  await page.waitForSelector("text=buy the dip");
  await page.waitForSelector(`main a[href="/console/orders/${fill}"]`);
  const waiting = await tools("set_alert", { symbol: "BTCUSDT", condition: { price_below: 40000 }, note: "far below" });
  const asked = await place(tools, buy(0.03, 49300), "pending_approval");
  await place(tools, buy(0.01, 49200), "accepted");
  return [`/orders/${fill}`, `/alerts/${alert_id}`, `/alerts/${waiting.alert_id}`, `/approvals/${asked}`, `/approvals/${asked}/allow`, `/approvals/${no}`, "/chart/BTCUSDT"];
}

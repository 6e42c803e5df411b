// Orders by the TypeScript SDK, over HTTP, let in by the owner: bought, seen, drawn,
// refused, waited for, cancelled and sold again. Every reply says the mode.
// usage: flow.mjs BASE_URL MODE BROKER PICTURE
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { answer } from "../check.mjs";
import { connect, Provider } from "../oauth/client.mjs";
import { Owner } from "../oauth/owner.mjs";

const [base, mode, broker, picture] = process.argv.slice(2);
const owner = new Owner();
const client = await connect(base, new Provider(), (url) => owner.decide(url));

const call = async (name, args = {}) => {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`);
  return result;
};
// trade is call for a tool about money: its reply says the mode.
const trade = async (name, args = {}) => {
  const said = answer(await call(name, args));
  for (const each of [said].flat()) assert.equal(each.mode, mode, `${name} says mode ${each.mode}`);
  return said;
};
const refused = async (args) => {
  const result = await client.callTool({ name: "place_order", arguments: args });
  assert.ok(result.isError, `it passed: ${result.content[0].text}`);
  return JSON.parse(result.content[0].text);
};

const chart = { symbol: "BTCUSDT", interval: "1m", bars: 120, indicators: ["ema_stack"] };
const summary = async () => answer(await call("generate_chart", { ...chart, format: "summary" }));
const before = await summary();
const last = before.price.last.close;
assert.deepEqual(await trade("get_orders"), []);
assert.deepEqual(await trade("get_positions"), []);

// The account is compared with the venue at the start; until then nothing passes.
const half = Number((1000 / last).toFixed(5));
const buy = { symbol: "BTCUSDT", side: "buy", type: "market", quantity: Number((2 * half).toFixed(5)) };
for (let tries = 0; ; tries++) {
  const { isError, content } = await client.callTool({ name: "place_order", arguments: { ...buy, dry_run: true } });
  if (!isError) break;
  assert.ok(tries < 1200, `trading does not begin: ${content[0].text}`);
  await sleep(50);
}
assert.equal((await trade("place_order", { ...buy, dry_run: true })).dry_run, true);
assert.deepEqual(await trade("get_orders"), []);

const bought = await trade("place_order", { ...buy, idempotency_key: "first" });
assert.equal(bought.status, "filled");
assert.equal(bought.broker, broker);
assert.equal((await trade("place_order", { ...buy, idempotency_key: "first" })).order_id, bought.order_id);
const near = (times) => Number((last * times).toFixed(2));
const waits = await trade("place_order", { symbol: "BTCUSDT", side: "buy", type: "limit", quantity: half, price: near(0.985) });
assert.equal(waits.status, "accepted");
const target = await trade("place_order", { symbol: "BTCUSDT", side: "sell", type: "limit", quantity: half, price: near(1.02) });
assert.equal(target.status, "accepted");

const orders = await trade("get_orders");
assert.deepEqual(orders.map((o) => o.order_id), [target.order_id, waits.order_id, bought.order_id]);
assert.ok(orders.every((o) => o.mode === mode && o.client_order_id && o.created_at));
assert.equal((await trade("get_orders", { filter: "open" })).length, 2);
const [position] = await trade("get_positions");
assert.equal(position.symbol, "BTCUSDT");
assert.equal(position.side, "buy");
assert.equal(position.mode, mode);
assert.ok(Math.abs(position.quantity / buy.quantity - 1) < 0.01 && position.entry_price > 0 && typeof position.unrealized_pnl === "number", JSON.stringify(position));

const after = await summary();
assert.equal(after.mode, mode);
assert.equal(after.position.side, "buy");
assert.deepEqual(new Set(after.open_orders.map((o) => o.order_id)), new Set([waits.order_id, target.order_id]));
const { content } = await call("generate_chart", chart);
const png = Buffer.from(content[0].data, "base64");
assert.equal(png.subarray(1, 4).toString(), "PNG");
await writeFile(picture, png);

const high = await refused({ symbol: "BTCUSDT", side: "buy", type: "limit", quantity: half, price: near(1.5) });
assert.equal(high.rule, "price_band_pct");
assert.equal(high.order.mode, mode);
assert.equal((await refused({ ...buy, quantity: "1,000" })).field, "quantity");

const gone = await trade("cancel_order", { order_id: waits.order_id });
assert.deepEqual([gone.ok, gone.status], [true, "canceled"]);
await trade("cancel_order", { order_id: target.order_id });
assert.deepEqual(await trade("get_orders", { filter: "open" }), []);
// A venue that takes its fee in what was bought leaves less than it takes orders for.
// The little that is added is less than a step, and makes up for binary fractions.
// The orders that were cancelled may have been filled in part.
const [held] = await trade("get_positions");
const rest = Number((Math.floor(held.quantity * 1e5 + 1e-4) / 1e5).toFixed(5));
const sold = await trade("place_order", { ...buy, side: "sell", quantity: rest, idempotency_key: "last" });
assert.equal(sold.status, "filled");
const left = await trade("get_positions");
assert.ok(left.every((p) => p.quantity < 1e-5), `bought ${position.quantity}, held ${held.quantity}, sold ${rest}, left ${JSON.stringify(left)}`);
await client.close();
console.log(`orders: placed, seen, drawn, cancelled and sold again at ${broker}, mode ${mode}`);

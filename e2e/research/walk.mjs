// An agent's way from an idea to an alert by the TypeScript SDK, as a transcript: test the
// alert, back-test rules around it, look at the picture, scan a watchlist, set the alert, hear
// that one fired. On the way it cancels a sweep.
// usage: walk.mjs BASE_URL
import assert from "node:assert/strict";
import { answer } from "../check.mjs";
import { connect, Provider } from "../oauth/client.mjs";
import { Owner } from "../oauth/owner.mjs";

const [base] = process.argv.slice(2);
const owner = new Owner();
const client = await connect(base, new Provider(), (url) => owner.decide(url));

// say prints a line of the transcript.
const say = (who, text) => console.log(`${who}: ${text}`);

// ask calls a tool, says what it answers in short, and returns the answer. Each has at most 2,000
// tokens of four bytes.
async function ask(name, args, short, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`);
  if (result.content[0].type === "text") assert.ok(result.content[0].text.length <= 8000, `${name} answers ${result.content[0].text.length} bytes`);
  const got = result.content[0].type === "text" ? answer(result) : result.content[0];
  say("agent", `${name} ${JSON.stringify(args)}`);
  say("candela", short(got));
  return got;
}

const { tools } = await client.listTools();
assert.equal(tools.length, 19);

say("owner", "Does it pay to buy BTC when the 1h RSI was oversold? If so, let me know when it happens.");
const condition = { indicator_signal: { indicator: "rsi", signal: "rsi_oversold" } };

const tested = await ask("test_alert", { symbol: "BTCUSDT", interval: "1h", bars: 3000, condition },
  (a) => `${a.describe}: ${a.firings} firings in ${a.data.bars} bars; ${a.reading}`);
assert.ok(tested.firings > 0 && tested.forward.length === 5 && tested.forward.every((f) => f.edge_95.length === 2));

const heard = [];
const rules = { enter: condition, target_pct: 4, stop_pct: "$stop", max_bars: "$hold" };
const run = await ask("run_backtest", {
  symbol: "BTCUSDT", interval: "1h", bars: 3000, long: rules, sweep: { stop: [1, 2, 3, 5], hold: [6, 12, 24, 48] }, walk_forward: { train: 800, test: 400 },
}, (a) => `chosen ${JSON.stringify(a.sweep.chosen)}: net ${a.result.net_pct} % (hold ${a.result.buy_and_hold_pct} %), out of sample ${a.sweep.out_of_sample.net_pct} %; flags ${JSON.stringify(a.honesty.flags)}; ${a.honesty.trials}`,
{ onprogress: (p) => heard.push(p), timeout: 120000 });
assert.equal(run.sweep.trials, 16);
assert.ok(heard.length > 0, "a sweep reports its progress");
for (let i = 1; i < heard.length; i++) assert.ok(heard[i].progress > heard[i - 1].progress, JSON.stringify(heard));

const trials = await ask("get_report", { report_id: run.report_id, part: "trials" }, (a) => `${a.total} trials: ${a.columns.join(", ")}`);
assert.equal(trials.total, 16);
for (const theme of ["dark", "light"]) {
  const picture = await ask("get_report", { report_id: run.report_id, part: "picture", theme }, (a) => `a ${a.mimeType} of ${Math.round(a.data.length * 3 / 4000)} KB`);
  assert.ok(Buffer.from(picture.data, "base64").subarray(1, 4).equals(Buffer.from("PNG")));
}

{
  // Too long: the agent gives up, and the server goes on with others at once.
  const values = Array.from({ length: 31 }, (_, i) => i + 2);
  const stop = new AbortController();
  const long = client.callTool({
    name: "run_backtest", arguments: { symbol: "BTCUSDT", interval: "1h", bars: 15000, long: { enter: { value: { indicator: { name: "rsi", length: "$n" }, op: "<", value: "$low" } }, max_bars: 4 }, sweep: { n: values, low: values } },
  }, undefined, { signal: stop.signal, timeout: 120000, onprogress: () => stop.abort() });
  await assert.rejects(long, /abort/i);
  say("agent", "cancels a sweep of 961 runs at its first progress");
}

const scan = await ask("scan_symbols", { symbols: ["BTCUSDT", "ETHUSDT", "ETHBTC"], interval: "1h", condition, within_bars: 100, columns: ["rsi", "close"], order: "asc" },
  (a) => `${a.matched} of ${a.asked} match: ${a.rows.map((r) => `${r.symbol} ${r.bars_ago} bars ago, RSI ${r.values.rsi}`).join("; ")}`);
assert.equal(scan.complete, true);
assert.equal(scan.done, 3);

const set = await ask("set_alert", { symbol: scan.rows[0]?.symbol ?? "BTCUSDT", interval: "1h", condition, repeat: true, note: "idea of today" }, (a) => a.describe ?? JSON.stringify(a));
const listed = await ask("list_alerts", {}, (a) => JSON.stringify(a.map((x) => x.describe ?? x.alert_id)));
assert.ok(listed.some((a) => a.alert_id === set.alert_id));

const again = await ask("test_alert", { alert_id: set.alert_id, bars: 1000 }, (a) => `${a.describe}: ${a.firings} firings`);
assert.match(again.describe, /rsi_oversold/);

await ask("set_alert", { symbol: "BTCUSDT", condition: { price_above: 1 } }, (a) => a.describe ?? JSON.stringify(a));
const fired = await ask("get_notifications", { wait_seconds: 30 }, (a) => `${a.length} fired: ${a[0].symbol} at ${a[0].value}`);
assert.equal(fired[0].condition.type, "price_above");
await client.close();
console.log("research: from an idea to an alert");

// An agent proposes a strategy, and its owner reads it, starts it on paper with the passphrase, pauses it, lets it go on
// and stops it.
import assert from "node:assert/strict";
import { agent, submit } from "./browser.mjs";
import { passphrase } from "../oauth/owner.mjs";
import { press } from "./trade.mjs";

const script = `//@version=6
strategy("cross", default_qty_type=strategy.percent_of_equity, default_qty_value=20)
if ta.crossover(ta.sma(close, 5), ta.sma(close, 20))
    strategy.entry("L", strategy.long)
strategy.exit("X", "L", profit=50000, loss=20000)
if ta.crossunder(ta.sma(close, 5), ta.sma(close, 20))
    strategy.close("L")`;

// strategy returns the paths of a strategy that runs and of its forms.
export async function strategy(base, page, scripted) {
  const tools = await agent(base, "Claude");
  const name = `cross ${scripted ? "with" : "without"} script`;
  const proposed = await tools("propose_deployment", { name, symbol: "BTCUSDT", interval: "15m", script, capital: scripted ? 5000 : 6000, bars: 1000, note: "it held over two years" });
  assert.equal(proposed.state, "proposed", JSON.stringify(proposed));
  await page.goto(`${base}/console/strategies`);
  await submit(page, `a.strong:has-text("${name}")`);
  await page.waitForSelector("text=it held over two years");
  await page.waitForSelector("text=trades, honesty and picture");
  await press(page, scripted, 'a:has-text("start")', "Start", { stage: "paper", cap: "500", passphrase });
  await page.waitForSelector("text=as tested");
  await press(page, scripted, 'a:has-text("pause")', "Pause");
  await page.waitForSelector("text=Its stops stay");
  await press(page, scripted, 'a:has-text("resume")', "Resume", { passphrase });
  const path = new URL(page.url()).pathname.replace("/console", "");
  if (scripted) return [path, `${path}/stop`];
  await press(page, scripted, 'a:has-text("stop")', "Stop", { held: "close it at the market" });
  await page.waitForSelector('.st:has-text("stopped")');
  assert.equal((await tools("get_deployment", { deployment_id: proposed.deployment_id })).state, "stopped");
  return [];
}

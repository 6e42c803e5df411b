// The part of the driver's protocol that runners in JavaScript share; drive.mjs has the
// protocol.
import { createInterface } from "node:readline";

export const { E2E_TRANSPORT: transport, E2E_MODE: mode, E2E_URL: url, E2E_PORT: port, E2E_LOGINS: logins, E2E_SERVES: serves } = process.env;
export const command = JSON.parse(process.env.E2E_COMMAND ?? "[]");

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// request asks the driver for something that a client cannot do, and waits for it.
async function request(message) {
  say(message);
  return JSON.parse((await answers.next()).value);
}

// open shows the owner an address and returns where the browser is sent from there; with
// visit the browser goes there, because the client listens itself.
export const open = (address, visit = false) => request({ open: String(address), visit });
export const restart = () => request({ restart: true });
// action records something else that the user has to do.
export const action = (text) => request({ action: text });
// seen waits until the tap has seen an entry with these values, and returns it.
export const seen = (entry, seconds = 120) => request({ seen: entry, seconds });
// streams returns how many streams the client keeps open. A server that ends one of them
// would see it again within three seconds.
export async function streams() {
  let open = 0;
  while ((await seen({ stream: open + 1 }, 3)).entry) {
    if (++open > 4) return "they take turns";
  }
  return open;
}
export const finish = (row) => { say({ row }); process.exit(0); };

// Alarm collects notifications of alerts and of changed resources; its came waits for the
// one of an alert or resource.
export class Alarm {
  #received = new Set();
  #wake = () => {};
  receive = ({ method, params }) => {
    if (method !== "notifications/alert_triggered" && method !== "notifications/resources/updated") return;
    this.#received.add(params.alert_id ?? params.uri);
    this.#wake();
  };
  async came(id, seconds = process.env.E2E_WAIT) {
    const end = new Promise((resolve) => setTimeout(resolve, seconds * 1000, "no"));
    for (;;) {
      if (this.#received.has(id)) return "yes";
      const next = new Promise((resolve) => { this.#wake = resolve; });
      if ((await Promise.race([next, end])) === "no") return "no";
    }
  }
}

// The calls that every client makes, through call(name, arguments), which returns the text
// of the answer.
export async function chart(call) {
  return JSON.parse(await call("generate_chart", { symbol: "BTCUSDT", format: "summary", bars: 60 })).price.bars === 60 ? "yes" : "no";
}

export async function alert(call, alarm, seconds) {
  await call("subscribe_notifications", {});
  const { alert_id: id } = JSON.parse(await call("set_alert", { symbol: "BTCUSDT", condition: { price_above: 0.5 } }));
  return alarm.came(id, seconds);
}

// watched is alert for a client of 2026-07-28, which subscribes to a resource and reads it.
export async function watched(call, alarm, listen, read) {
  const uri = "candela://alerts/fired";
  await listen(uri);
  const { alert_id: id } = JSON.parse(await call("set_alert", { symbol: "BTCUSDT", condition: { price_above: 0.5 } }));
  if ((await alarm.came(uri)) === "no") return "no";
  return JSON.parse(await read(uri)).notifications.some((n) => n.alert_id === id) ? "yes" : "no";
}

// caller returns such a call for the clients of both TypeScript packages.
export const caller = (client) => async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0]?.text}`);
  return result.content[0].text;
};

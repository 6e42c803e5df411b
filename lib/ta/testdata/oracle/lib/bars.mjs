// Reads the bar sets the Go generator wrote.
import { readFileSync } from 'node:fs';

const seconds = { '1h': 3600, '1d': 86400 };

export const setNames = ['ordinary', 'long', 'daily', 'flat', 'gap', 'spike', 'zerovolume', 'one'];

export function readBars(name) {
  const url = new URL(`../bars/${name}.json`, import.meta.url);
  const raw = JSON.parse(readFileSync(url, 'utf8'));
  const bars = {
    name,
    interval: raw.interval,
    seconds: seconds[raw.interval],
    n: raw.t.length,
    time: raw.t,
    open: raw.o,
    high: raw.h,
    low: raw.l,
    close: raw.c,
    volume: raw.v,
    takerBuy: raw.taker_buy,
  };
  bars.hlc3 = bars.close.map((c, i) => (bars.high[i] + bars.low[i] + c) / 3);
  return bars;
}

// day, week and month number the UTC periods; a week begins on Monday.
export const day = (t) => Math.floor(t / 86400);
export const week = (t) => Math.floor((day(t) + 3) / 7);
export const month = (t) => {
  const d = new Date(t * 1000);
  return d.getUTCFullYear() * 12 + d.getUTCMonth();
};

const quarter = (t) => Math.floor(month(t) / 3);
const year = (t) => new Date(t * 1000).getUTCFullYear();

// periods by the names of our anchors.
export const periods = { session: day, day, week, month, quarter, year };

// source is a price of every bar by its Pine name.
export function source(bars, name) {
  const { open: o, high: h, low: l, close: c } = bars;
  const formulas = {
    close: (i) => c[i],
    hl2: (i) => (h[i] + l[i]) / 2,
    hlc3: (i) => (h[i] + l[i] + c[i]) / 3,
    ohlc4: (i) => (o[i] + h[i] + l[i] + c[i]) / 4,
    hlcc4: (i) => (h[i] + l[i] + 2 * c[i]) / 4,
  };
  return c.map((_, i) => formulas[name](i));
}

// runs cuts the bars where period(time) changes: [[from, to), ...].
export function runs(bars, period) {
  const cuts = [];
  let from = 0;
  for (let i = 1; i <= bars.n; i++) {
    if (i === bars.n || period(bars.time[i]) !== period(bars.time[i - 1])) {
      cuts.push([from, i]);
      from = i;
    }
  }
  return cuts;
}

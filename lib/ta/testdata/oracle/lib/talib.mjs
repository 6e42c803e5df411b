// TA-Lib in C. Every function returns arrays as long as the input, NaN before
// the first value.
import { createRequire } from 'node:module';

const talib = createRequire(import.meta.url)('talib'); // an addon: import cannot load it

const pad = (values, first, n) => {
  const out = new Array(n).fill(NaN);
  for (let i = 0; i < values.length; i++) out[first + i] = values[i];
  return out;
};

// ta(name, inputs, options) -> {output name: array}.
export function ta(name, inputs, options = {}) {
  const n = Object.values(inputs)[0].length;
  const r = talib.execute({ name, startIdx: 0, endIdx: n - 1, ...inputs, ...options });
  if (r.error) throw new Error(`${name}: ${r.error}`);
  const out = {};
  for (const [key, values] of Object.entries(r.result)) out[key] = pad(values, r.begIndex, n);
  return out;
}

// real runs a function of one series with one period.
export const real = (name, inReal, period) => ta(name, { inReal }, { optInTimePeriod: period }).outReal;

// hlc and hlcv name the price inputs as TA-Lib wants them.
export const hlc = (b) => ({ high: b.high, low: b.low, close: b.close });
export const hlcv = (b) => ({ ...hlc(b), volume: b.volume });

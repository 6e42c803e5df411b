// OakScriptJS: Pine's ta.* over whole arrays.
import { taCore } from 'oakscriptjs';

export const ta = taCore;

// each combines series bar by bar.
export const each = (fn, ...series) => series[0].map((_, i) => fn(...series.map((s) => s[i])));

// late runs fn on the part of a series that has values and puts the result back
// in place: OakScript's window functions do not skip a NaN at the start.
export function late(fn, series, ...args) {
  const first = series.findIndex((v) => !Number.isNaN(v));
  if (first < 0) return series.slice();
  return new Array(first).fill(NaN).concat(fn(series.slice(first), ...args));
}

// shift moves a series later (positive) or earlier by n bars.
export const shift = (series, n) => series.map((_, i) => (i - n >= 0 && i - n < series.length ? series[i - n] : NaN));

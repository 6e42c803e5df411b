// PineTS runs the Pine Script that stands in each spec. It rounds every built-in
// to ten decimals; that hides what is compared here, so the rounding is taken out.
import { Context, PineTS } from 'pinets';

Context.prototype.precision = (value) => value;

const timeframes = { '1h': '60', '1d': 'D' };

// pine returns {plot title: array} for the body of a script.
export async function pine(bars, body) {
  const rows = bars.time.map((t, i) => ({
    openTime: t * 1000,
    closeTime: (t + bars.seconds) * 1000 - 1,
    open: bars.open[i],
    high: bars.high[i],
    low: bars.low[i],
    close: bars.close[i],
    volume: bars.volume[i],
  }));
  const runner = new PineTS(rows, 'BARS', timeframes[bars.interval]);
  const context = await runner.run(`//@version=6\nindicator("oracle")\n${body}\n`);
  const out = {};
  for (const [title, plot] of Object.entries(context.plots)) {
    if (title.startsWith('__')) continue;
    out[title] = plot.data.map((p) => (typeof p.value === 'number' ? p.value : NaN));
    if (out[title].length !== bars.n) throw new Error(`pine: ${title} has ${out[title].length} values for ${bars.n} bars`);
  }
  return out;
}

// marked lists the bars where a plot of a condition is 1, moved back by so many.
export const marked = (plot, back = 0) => plot.flatMap((v, i) => (v === 1 ? [i - back] : []));

// signalled takes the plots named after signals out of the lines. Where nothing
// moves, a cross is a matter of the last bit, so the flat set has none to compare.
export function signalled(bars, plots, names) {
  const signals = {};
  const lines = { ...plots };
  for (const [name, back] of Object.entries(names)) {
    if (bars.name !== 'flat') signals[name] = marked(lines[name], back);
    delete lines[name];
  }
  return { ...lines, signals };
}

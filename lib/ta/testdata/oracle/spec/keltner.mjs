import { real } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak, each } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const bands = (mid, atr, k) => ({
  'KC Upper': each((m, a) => m + k * a, mid, atr),
  'KC Mid': mid,
  'KC Lower': each((m, a) => m - k * a, mid, atr),
});

// What TradingView offers to measure the bands in.
const oakWidth = (b, p) =>
  ({
    atr: () => oak.atr(p.atr_length, b.high, b.low, b.close),
    true_range: () => oak.tr(true, b.high, b.low, b.close),
    range: () =>
      oak.rma(
        each((h, l) => h - l, b.high, b.low),
        p.period,
      ),
  })[p.bands_style ?? 'atr']();
const pineWidth = (p) =>
  ({ atr: `ta.atr(${p.atr_length})`, true_range: 'ta.tr(true)', range: `ta.rma(high - low, ${p.period})` })[p.bands_style ?? 'atr'];

export default {
  indicator: 'keltner',
  variants: [
    { period: 20, multiplier: 1.5, atr_length: 10 },
    { period: 8, multiplier: 2, atr_length: 14 },
    { period: 10, multiplier: 2, atr_length: 10, bands_style: 'true_range' },
    { period: 10, multiplier: 2, atr_length: 10, bands_style: 'range' },
  ],
  edges: [
    { period: 1, multiplier: 1, atr_length: 1 },
    { period: 100, multiplier: 3, atr_length: 50 },
  ],
  oracles: {
    tulip: {
      takes: (p) => !p.bands_style,
      note: "TA-Lib's EMA with Tulip's ATR: Tulip's own EMA begins at the first close",
      run: (b, p) => bands(real('EMA', b.close, p.period), ti('atr', [b.high, b.low, b.close], [p.atr_length])[0], p.multiplier),
    },
    oak: { run: (b, p) => bands(oak.ema(b.close, p.period), oakWidth(b, p), p.multiplier) },
    pine: {
      run: (b, p) =>
        pine(
          b,
          `mid = ta.ema(close, ${p.period})
width = ${p.multiplier} * ${pineWidth(p)}
plot(mid + width, "KC Upper")
plot(mid, "KC Mid")
plot(mid - width, "KC Lower")`,
        ),
    },
  },
};

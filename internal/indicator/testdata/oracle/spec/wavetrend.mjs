import { ta as oak, each, late } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export const wt = (ch, avg) => `esa = ta.ema(hlc3, ${ch})
spread = ta.ema(math.abs(hlc3 - esa), ${ch})
ci = (hlc3 - esa) / (0.015 * spread)
wt1 = ta.ema(ci, ${avg})
wt2 = ta.sma(wt1, 3)
plot(wt1, "WT1")
plot(wt2, "WT2")`;

// Where nothing moves, the distance from the average and the spread go to zero
// together, and their quotient loses a digit every ten bars.
const until = { flat: 170 };

export default {
  indicator: 'wavetrend',
  variants: [
    { ch_len: 9, avg_len: 12 },
    { ch_len: 10, avg_len: 21 },
  ],
  oracles: {
    oak: {
      until,
      run: (b, p) => {
        const esa = oak.ema(b.hlc3, p.ch_len);
        const spread = oak.ema(
          each((x, e) => Math.abs(x - e), b.hlc3, esa),
          p.ch_len,
        );
        const ci = each((x, e, d) => (x - e) / (0.015 * d), b.hlc3, esa, spread);
        const wt1 = oak.ema(ci, p.avg_len);
        return { WT1: wt1, WT2: late(oak.sma, wt1, 3) };
      },
    },
    pine: { until, run: (b, p) => pine(b, wt(p.ch_len, p.avg_len)) },
  },
};

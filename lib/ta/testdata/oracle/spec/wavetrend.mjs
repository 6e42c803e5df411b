import { ta as oak, each, late } from '../lib/oak.mjs';
import { pine, signalled } from '../lib/pine.mjs';

export const wt = (ch, avg) => `esa = ta.ema(hlc3, ${ch})
spread = ta.ema(math.abs(hlc3 - esa), ${ch})
ci = spread == 0 ? 0.0 : (hlc3 - esa) / (0.015 * spread)
wt1 = ta.ema(ci, ${avg})
wt2 = ta.sma(wt1, 3)
up = ta.crossover(wt1, wt2)
down = ta.crossunder(wt1, wt2)
plot(wt1, "WT1")
plot(wt2, "WT2")`;

const crosses = `
plot(up and wt2 <= -53 ? 1 : 0, "cross_up_os")
plot(up and not (wt2 <= -53) ? 1 : 0, "cross_up")
plot(down and wt2 >= 53 ? 1 : 0, "cross_down_ob")
plot(down and not (wt2 >= 53) ? 1 : 0, "cross_down")`;

// Where nothing moves, the distance from the average and the spread go to zero
// together, and their quotient loses a digit every ten bars.
const until = { flat: 170 };

export default {
  indicator: 'wavetrend',
  variants: [
    { ch_len: 9, avg_len: 12 },
    { ch_len: 10, avg_len: 21 },
  ],
  edges: [
    { ch_len: 2, avg_len: 1 },
    { ch_len: 40, avg_len: 50 },
  ],
  oracles: {
    oak: {
      until,
      run: (b, p) => {
        const esa = oak.ema(b.hlc3, p.ch_len);
        const away = each((x, e) => x - e, b.hlc3, esa);
        const spread = oak.ema(away.map(Math.abs), p.ch_len);
        const ci = each((a, d) => (d === 0 ? 0 : a / (0.015 * d)), away, spread);
        const wt1 = oak.ema(ci, p.avg_len);
        return { WT1: wt1, WT2: late(oak.sma, wt1, 3) };
      },
    },
    pine: {
      until,
      run: async (b, p) =>
        signalled(b, await pine(b, wt(p.ch_len, p.avg_len) + crosses), { cross_up_os: 0, cross_up: 0, cross_down_ob: 0, cross_down: 0 }),
    },
  },
};

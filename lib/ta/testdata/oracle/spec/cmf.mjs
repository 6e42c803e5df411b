import { real } from '../lib/talib.mjs';
import { ta as oak, each } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const flow = (b) => each((h, l, c, v) => (h === l ? 0 : ((2 * c - l - h) / (h - l)) * v), b.high, b.low, b.close, b.volume);

export default {
  indicator: 'cmf',
  variants: [{ period: 20 }, { period: 7 }],
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    talib: {
      run: (b, p) => ({ CMF: each((f, v) => f / v, real('SUM', flow(b), p.period), real('SUM', b.volume, p.period)) }),
      skip: {
        flat: 'its rolling sum keeps a remainder of flows that left the window',
        zerovolume: 'its rolling sum keeps a remainder of volume that left the window',
      },
    },
    oak: { run: (b, p) => ({ CMF: each((f, v) => f / v, oak.sma(flow(b), p.period), oak.sma(b.volume, p.period)) }) },
    pine: {
      run: (b, p) =>
        pine(
          b,
          `flow = high == low ? 0.0 : (2 * close - low - high) / (high - low) * volume
plot(math.sum(flow, ${p.period}) / math.sum(volume, ${p.period}), "CMF")`,
        ),
    },
  },
};

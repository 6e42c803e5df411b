import { real } from '../lib/talib.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const lengths = [8, 21, 50, 200];
const stack = (ema) => Object.fromEntries(lengths.map((n) => [`EMA ${n}`, ema(n)]));

export default {
  indicator: 'ema_stack',
  variants: [{}],
  oracles: {
    talib: { run: (b) => stack((n) => real('EMA', b.close, n)) },
    oak: { run: (b) => stack((n) => oak.ema(b.close, n)) },
    pine: { run: (b) => pine(b, lengths.map((n) => `plot(ta.ema(close, ${n}), "EMA ${n}")`).join('\n')) },
  },
};

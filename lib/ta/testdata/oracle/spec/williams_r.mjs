import { ta as talib, hlc } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const skip = { flat: 'gives 0 where there is no range' };

export default {
  indicator: 'williams_r',
  variants: [{ period: 14 }, { period: 5 }],
  edgeOracles: ['oak'], // the other keeps remainders in its rolling sums, or has 0 for 0 / 0
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    talib: { run: (b, p) => ({ '%R': talib('WILLR', hlc(b), { optInTimePeriod: p.period }).outReal }), skip },
    tulip: { run: (b, p) => ({ '%R': ti('willr', [b.high, b.low, b.close], [p.period])[0] }), skip },
    oak: { run: (b, p) => ({ '%R': oak.wpr(b.high, b.low, b.close, p.period) }) },
    pine: { run: (b, p) => pine(b, `plot(ta.wpr(${p.period}), "%R")`), skip },
  },
};

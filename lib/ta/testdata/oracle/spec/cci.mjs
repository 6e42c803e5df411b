import { ta as talib, hlc } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'cci',
  variants: [{ period: 20 }, { period: 7 }],
  edgeOracles: ['oak'], // the other keeps remainders in its rolling sums, or has 0 for 0 / 0
  edges: [{ period: 2 }, { period: 100 }],
  oracles: {
    talib: {
      run: (b, p) => ({ CCI: talib('CCI', hlc(b), { optInTimePeriod: p.period }).outReal }),
      skip: { flat: 'gives 0 where nothing deviates' },
    },
    tulip: {
      note: 'begins later',
      run: (b, p) => ({ CCI: ti('cci', [b.high, b.low, b.close], [p.period])[0] }),
      from: (p) => 2 * p.period - 2,
      skip: { flat: 'divides 0 by 0 where nothing deviates' },
    },
    oak: {
      run: (b, p) => ({ CCI: oak.cci(b.hlc3, p.period) }),
      until: { flat: 179 }, // from here on nothing deviates, and its mean keeps a remainder that makes a 66.7
    },
    pine: { run: (b, p) => pine(b, `plot(ta.cci(hlc3, ${p.period}), "CCI")`), skip: { flat: 'gives 0 where nothing deviates' } },
  },
};

import { ta as talib, hlc } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'atr',
  variants: [{ period: 14 }, { period: 5 }],
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    talib: {
      seed: 'differs',
      note: 'leaves out the first true range and begins one bar later',
      run: (b, p) => ({ ATR: talib('ATR', hlc(b), { optInTimePeriod: p.period }).outReal }),
      skip: { one: 'no value either way' },
    },
    tulip: { run: (b, p) => ({ ATR: ti('atr', [b.high, b.low, b.close], [p.period])[0] }) },
    oak: { run: (b, p) => ({ ATR: oak.atr(p.period, b.high, b.low, b.close) }) },
    pine: { run: (b, p) => pine(b, `plot(ta.atr(${p.period}), "ATR")`) },
  },
};

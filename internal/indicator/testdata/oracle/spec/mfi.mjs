import { ta as talib, hlcv } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'mfi',
  variants: [{ period: 14 }, { period: 5 }],
  oracles: {
    talib: { run: (b, p) => ({ MFI: talib('MFI', hlcv(b), { optInTimePeriod: p.period }).outReal }) },
    tulip: { run: (b, p) => ({ MFI: ti('mfi', [b.high, b.low, b.close, b.volume], [p.period])[0] }) },
    oak: { run: (b, p) => ({ MFI: oak.mfi(b.hlc3, p.period, b.volume) }) },
    pine: {
      note: 'begins one bar early with a window that holds bar 0, which has no change',
      run: (b, p) => pine(b, `plot(ta.mfi(hlc3, ${p.period}), "MFI")`),
      from: (p) => p.period,
    },
  },
};

import { real } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'roc',
  variants: [{ period: 14 }, { period: 9 }],
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    talib: { run: (b, p) => ({ ROC: real('ROC', b.close, p.period) }) },
    tulip: {
      note: 'a fraction there, made per cent here',
      run: (b, p) => ({ ROC: ti('roc', [b.close], [p.period])[0].map((v) => 100 * v) }),
    },
    oak: { run: (b, p) => ({ ROC: oak.roc(b.close, p.period) }) },
    pine: { run: (b, p) => pine(b, `plot(ta.roc(close, ${p.period}), "ROC")`) },
  },
};

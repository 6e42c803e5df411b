import { real } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'rsi',
  variants: [{ length: 14 }, { length: 7 }],
  oracles: {
    talib: { run: (b, p) => ({ RSI: real('RSI', b.close, p.length) }), skip: { flat: 'gives 0 without any move; TradingView gives 100' } },
    tulip: { run: (b, p) => ({ RSI: ti('rsi', [b.close], [p.length])[0] }), skip: { flat: 'divides 0 by 0 without any move' } },
    oak: { run: (b, p) => ({ RSI: oak.rsi(b.close, p.length) }) },
    pine: { run: (b, p) => pine(b, `plot(ta.rsi(close, ${p.length}), "RSI")`) },
  },
};

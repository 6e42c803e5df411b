import { ta as talib, hlcv } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'ad',
  variants: [{}],
  oracles: {
    talib: { run: (b) => ({ 'A/D': talib('AD', hlcv(b)).outReal }) },
    tulip: { run: (b) => ({ 'A/D': ti('ad', [b.high, b.low, b.close, b.volume])[0] }) },
    pine: { run: (b) => pine(b, 'plot(ta.accdist, "A/D")') },
  },
};

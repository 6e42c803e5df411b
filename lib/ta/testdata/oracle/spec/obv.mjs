import { ta as talib } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'obv',
  variants: [{}],
  oracles: {
    talib: {
      note: 'less the first volume, with which TA-Lib begins',
      run: (b) => ({ OBV: talib('OBV', { inReal: b.close, volume: b.volume }).outReal.map((v) => v - b.volume[0]) }),
    },
    tulip: { run: (b) => ({ OBV: ti('obv', [b.close, b.volume])[0] }) },
    pine: { run: (b) => pine(b, 'plot(ta.obv, "OBV")') },
  },
};

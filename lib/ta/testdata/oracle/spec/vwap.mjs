import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';
import { periods, runs, source } from '../lib/bars.mjs';

export default {
  indicator: 'vwap',
  otherSets: ['gap', 'daily'],
  variants: [
    { anchor: 'session' },
    { anchor: 'week', source: 'close' },
    { anchor: 'month', source: 'ohlc4' },
    { anchor: 'quarter', source: 'hl2' },
    { anchor: 'year', source: 'hlcc4' },
  ],
  oracles: {
    oak: {
      note: 'it never starts anew by itself, so it is run on each period of its own',
      run: (b, p) => {
        const price = source(b, p.source ?? 'hlc3');
        return { VWAP: runs(b, periods[p.anchor]).flatMap(([from, to]) => oak.vwap(price.slice(from, to), b.volume.slice(from, to))) };
      },
    },
    pine: { takes: (p) => p.anchor === 'session', run: (b) => pine(b, 'plot(ta.vwap(hlc3), "VWAP")') },
  },
};

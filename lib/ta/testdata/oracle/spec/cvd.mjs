import { ta as oak, each } from '../lib/oak.mjs';
import { periods, runs } from '../lib/bars.mjs';

export default {
  indicator: 'cvd',
  otherSets: ['gap', 'daily'],
  variants: [{ anchor: 'session' }, { anchor: 'week' }, { anchor: 'month' }],
  oracles: {
    oak: {
      note: 'ta.cum on each period of its own',
      run: (b, p) => {
        const delta = each((t, v) => 2 * t - v, b.takerBuy, b.volume);
        return { CVD: runs(b, periods[p.anchor]).flatMap(([from, to]) => oak.cum(delta.slice(from, to))) };
      },
    },
  },
};

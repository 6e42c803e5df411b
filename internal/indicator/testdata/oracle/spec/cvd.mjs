import { ta as oak, each } from '../lib/oak.mjs';
import { day, runs } from '../lib/bars.mjs';

export default {
  indicator: 'cvd',
  variants: [{}],
  oracles: {
    oak: {
      note: 'ta.cum on each UTC day',
      run: (b) => ({
        CVD: runs(b, day).flatMap(([from, to]) => oak.cum(each((t, v) => 2 * t - v, b.takerBuy.slice(from, to), b.volume.slice(from, to)))),
      }),
    },
  },
};

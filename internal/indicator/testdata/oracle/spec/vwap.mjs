import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';
import { day, runs } from '../lib/bars.mjs';

// OakScript's VWAP never starts anew, so it is run on each UTC day by itself.
const daily = (b) => ({ VWAP: runs(b, day).flatMap(([from, to]) => oak.vwap(b.hlc3.slice(from, to), b.volume.slice(from, to))) });

export default {
  indicator: 'vwap',
  variants: [{}],
  oracles: {
    oak: { run: daily },
    pine: { run: (b) => pine(b, 'plot(ta.vwap(hlc3), "VWAP")') },
  },
};

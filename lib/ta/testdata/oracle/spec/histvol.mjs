import { ti } from '../lib/tulip.mjs';
import { ta as oak, late } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const year = 365 * 86400;
const returns = (b) => b.close.map((c, i) => (i === 0 ? NaN : Math.log(c / b.close[i - 1])));
const annual = (b) => 100 * Math.sqrt(year / b.seconds);

export default {
  indicator: 'histvol',
  daily: true,
  variants: [{ period: 20 }, { period: 10 }],
  edgeOracles: ['oak'], // the other keeps remainders in its rolling sums, or has 0 for 0 / 0
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    tulip: {
      run: (b, p) => ({ HV: late((s) => ti('stddev', [s], [p.period])[0], returns(b)).map((v) => v * annual(b)) }),
      skip: { flat: 'sums of squares cancel where nothing moves', spike: 'sums of squares cancel' },
    },
    oak: { run: (b, p) => ({ HV: late(oak.stdev, returns(b), p.period).map((v) => v * annual(b)) }) },
    pine: {
      run: (b, p) => pine(b, `plot(${annual(b)} * ta.stdev(math.log(close / close[1]), ${p.period}), "HV")`),
      skip: { flat: 'its rolling mean keeps a remainder where nothing moves' },
    },
  },
};

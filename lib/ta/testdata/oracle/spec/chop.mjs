import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'chop',
  variants: [{ length: 14 }, { length: 5 }],
  sets: ['ordinary', 'gap'],
  step: 2,
  oracles: {
    pine: {
      run: (b, p) =>
        pine(b, `plot(100 * math.log10(math.sum(ta.atr(1), ${p.length}) / (ta.highest(${p.length}) - ta.lowest(${p.length}))) / math.log10(${p.length}), "CHOP")`),
    },
  },
};

import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'percent_rank',
  variants: [
    { length: 100 },
    { length: 7, source: 'hl2' },
  ],
  sets: ['ordinary', 'gap'],
  oracles: {
    pine: {
      run: (b, p) => pine(b, `plot(ta.percentrank(${p.source ?? 'close'}, ${p.length}), "Rank")`),
    },
  },
};

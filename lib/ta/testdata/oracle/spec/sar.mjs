import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'sar',
  variants: [
    { af_start: 0.02, af_step: 0.02, af_max: 0.2 },
    { af_start: 0.01, af_step: 0.03, af_max: 0.1 },
  ],
  edges: [
    { af_start: 0.1, af_step: 0.1, af_max: 1 },
    { af_start: 0.02, af_step: 0, af_max: 0.02 },
  ],
  oracles: {
    oak: { run: (b, p) => ({ SAR: oak.sar(p.af_start, p.af_step, p.af_max, b.high, b.low, b.close) }) },
    pine: { run: (b, p) => pine(b, `plot(ta.sar(${p.af_start}, ${p.af_step}, ${p.af_max}), "SAR")`) },
  },
};

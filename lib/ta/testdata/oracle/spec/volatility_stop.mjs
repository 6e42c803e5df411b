import { pine, signalled } from '../lib/pine.mjs';

export default {
  indicator: 'volatility_stop',
  variants: [
    { length: 20, multiplier: 2 },
    { length: 5, multiplier: 1.5, source: 'hl2' },
  ],
  sets: ['ordinary', 'gap'],
  step: 2,
  oracles: {
    pine: {
      run: async (b, p) =>
        signalled(
          b,
          await pine(
            b,
            `src = ${p.source ?? 'close'}
var float best = na
var float worst = na
var float stop = na
var bool up = true
width = nz(ta.atr(${p.length}) * ${p.multiplier}, ta.tr)
best := math.max(nz(best, src), src)
worst := math.min(nz(worst, src), src)
bool was = up
stop := nz(up ? math.max(stop, best - width) : math.min(stop, worst + width), src)
up := src - stop >= 0.0
if up != was
    best := src
    worst := src
    stop := up ? best - width : worst + width
plot(stop, "VStop")
plot(up and not was ? 1 : 0, "flip_up")
plot(was and not up ? 1 : 0, "flip_down")`,
          ),
          { flip_up: 0, flip_down: 0 },
        ),
    },
  },
};

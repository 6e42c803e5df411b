import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'vwap_bands',
  variants: [{ std_dev: 2 }, { std_dev: 1 }],
  oracles: {
    pine: {
      note: 'mean first and then squares around it, over all bars of the UTC day so far',
      run: (b, p) =>
        pine(
          b,
          `today = math.floor(time / 86400000)
var int back = 0
back := bar_index == 0 or today != today[1] ? 0 : back + 1
float weight = 0.0
float total = 0.0
for i = 0 to back
    weight := weight + volume[i]
    total := total + hlc3[i] * volume[i]
mean = total / weight
float squares = 0.0
for i = 0 to back
    squares := squares + volume[i] * (hlc3[i] - mean) * (hlc3[i] - mean)
width = ${p.std_dev} * math.sqrt(squares / weight)
plot(mean + width, "VWAP Upper")
plot(mean, "VWAP")
plot(mean - width, "VWAP Lower")`,
        ),
    },
  },
};

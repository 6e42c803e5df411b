import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'vwap_bands',
  variants: [{ std_dev: 2 }, { std_dev: 1 }],
  oracles: {
    pine: {
      note: 'weighted mean and variance updated bar by bar (West 1979), begun anew each UTC day',
      run: (b, p) =>
        pine(
          b,
          `var float weight = 0.0
var float mean = 0.0
var float squares = 0.0
today = math.floor(time / 86400000)
if bar_index == 0 or today != today[1]
    weight := 0.0
    mean := 0.0
    squares := 0.0
weight := weight + volume
delta = hlc3 - mean
if weight > 0
    mean := mean + delta * volume / weight
squares := squares + volume * delta * (hlc3 - mean)
middle = weight > 0 ? mean : na
width = ${p.std_dev} * math.sqrt(math.max(squares, 0.0) / weight)
plot(weight > 0 ? middle + width : na, "VWAP Upper")
plot(middle, "VWAP")
plot(weight > 0 ? middle - width : na, "VWAP Lower")`,
        ),
    },
  },
};

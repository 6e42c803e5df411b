// Tulip Indicators in C. Returns one array per output, as long as the input, NaN
// before the first value.
import tulind from 'tulind';

export function ti(name, inputs, options = []) {
  const f = tulind.indicators[name];
  const n = inputs[0].length;
  const first = f.start(options);
  if (first >= n) return f.output_names.map(() => new Array(n).fill(NaN));
  let out;
  f.indicator(inputs, options, (err, result) => {
    if (err) throw new Error(`${name}: ${err}`);
    out = result;
  });
  return out.map((values) => new Array(first).fill(NaN).concat(Array.from(values)));
}

// Package candle recognises the 61 candlestick patterns of TA-Lib, one bar at a time.
// It knows nothing of indicators, charts and signals, imports only the standard library
// and calc, and returns no error. Package indicator calls it.
//
// # Measures
//
// A candle is measured against the bars before it, never against itself: its body
// against the mean body of ten bars, a doji and a very short shadow against a tenth of
// their mean range, a short shadow against half of their mean shadows. A long shadow is
// longer than the candle's own body, a very long one than twice the body. Prices are
// near, far or equal within 0.2, 0.6 and 0.05 of the mean range of five bars. A candle
// that closes where it opened is white.
//
// # Ties
//
// Prices are decimal, and sums of them in binary are off in the last digits. Where two
// lengths are equal, rounding would decide; a running total even lets it depend on where
// the history began. Here a mean is added up from its own bars, in their order, and
// lengths that differ by less than 1e-13 of the price are equal. The values are those of
// exact arithmetic, as TA-Lib has them when the same bars are given in whole ticks.
//
// # Missing prices
//
// After a bar with a price that is missing or infinite, patterns begin again as at the
// start of the history.
package candle

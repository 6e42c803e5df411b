// Package calc implements the arithmetic of the indicators: states that compute one bar
// at a time and, for the most used, kernels that compute whole series. It knows
// nothing of markets, imports only the standard library, starts no goroutine and
// returns no error: a window below one bar panics, everything else has a defined
// value.
//
// # Batch kernels
//
// A kernel writes into memory the caller owns and allocates nothing. Each
// destination has at least the length of its source and must not overlap it or
// another destination. Values that do not exist yet are NaN.
//
// # Missing values
//
// NaN marks a missing value, and there are two rules.
//
//   - Windowed values (sums, means, deviations, extremes, regression): the value
//     is NaN exactly while a NaN is inside the window, and right again as soon as
//     it has left. Lags and changes look at the ends of the window only.
//   - Recursive values (EMA, RMA, RSI, MACD, true range, ATR, ADX, cumulative
//     sums): a missing bar is stepped over. Its value is NaN and the memory stays
//     as it was. So a series that begins at index k seeds at k+n-1. An infinity
//     counts as missing here: in a recursive mean it would stay forever.
//
// Both give composed indicators the correct first index.
//
// # States
//
// A state's Step returns the same bits as the batch kernel at that bar. To hold
// this on every processor, each product that feeds an addition is wrapped in
// float64(...): Go may otherwise fuse the two, and where it does depends on the
// code around them. All mutable memory of the states made from one [Slab] lies
// in that slab, so that a snapshot of a whole indicator is one copy.
//
// # Windows that do not depend on earlier history
//
// A running sum that adds the new value and subtracts the old one keeps the
// rounding of every earlier value: the result depends on where the history began,
// a spike of 1e12 destroys the digits of all later bars, and one NaN stays
// forever. Here a window is split at an anchor instead: the sum of the bars before
// the anchor, computed backwards, plus the sum of the bars from the anchor on,
// computed forwards. Both parts are kept while the window slides, which costs three
// additions per bar instead of two. A bar is an anchor when its slot (its open time
// in units of the interval) is a multiple of the window, see [Slots]. The value
// therefore depends only on the bars in the window. Means and deviations are
// computed relative to the anchor's value: it lies in the window, so the shift never
// exceeds the window's range and the variance does not cancel.
package calc

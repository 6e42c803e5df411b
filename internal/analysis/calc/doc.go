// Package calc holds the arithmetic under the indicators: kernels that turn
// whole series into whole series, and states that do the same one bar at a
// time. It knows nothing of markets, imports only the standard library, keeps
// no goroutine and returns no error: a window below one bar is a programmer's
// mistake and panics, everything else has a defined value.
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
//   - Windowed kernels (sums, means, deviations, extremes, regression): the value
//     is NaN exactly while a NaN is inside the window, and right again as soon as
//     it has left. Lags and changes look at the ends of the window only.
//   - Recursive kernels (EMA, RMA, RSI, MACD, true range, ATR, ADX, cumulative
//     sums): a missing bar is stepped over. Its value is NaN and the memory stays
//     as it was. So a series that begins at index k seeds at k+n-1. An infinity
//     counts as missing here: in a recursive mean it would stay for ever.
//
// Both give the composition of indicators its right first index for free.
//
// # States
//
// A state's Step returns the same bits as the batch kernel at that bar. To hold
// this on every processor, each product that feeds an addition is wrapped in
// float64(...): Go may otherwise fuse the two, and where it does depends on the
// code around them. All mutable memory of the states made from one [Slab] lies
// in that slab, so that a snapshot of a whole indicator is one copy.
//
// # Windows that do not remember their history
//
// A running sum that adds the new value and takes off the old one carries the
// rounding of everything it ever saw: a value then depends on where the history
// began, a spike of 1e12 wipes out the digits of all bars after it, and one NaN
// stays for ever. Here a window is split at an anchor instead: the sum is that
// of the bars before the anchor, taken backwards, plus that of the bars from the
// anchor on, taken forwards. Both parts are kept while the window slides, which
// costs three additions a bar where a running sum costs two. Anchors lie where the
// bar's slot (its open time in units of the interval) is a multiple of the
// window, see [Slots]. The value therefore depends on the bars in the window and
// on nothing else. Means and deviations are taken around the anchor's own value:
// it lies in the window, hence the shift never exceeds the window's range and
// the variance does not cancel.
package calc

package indicator

import (
	"time"

	"candela/internal/analysis/calc"
	"candela/internal/market"
)

// slots returns the times of the bars for windowed kernels, so that a value does not
// depend on where the history began.
func (in Input) slots() calc.Slots {
	if in.Interval != market.Month1 {
		return calc.Slots{T: in.Bars.T, Step: max(1, in.Interval.Seconds())}
	}
	months := make([]int64, in.Bars.Len())
	for i, t := range in.Bars.T {
		months[i] = monthOf(t)
	}
	return calc.Slots{T: months, Step: 1}
}

// slotOf is the slot of one bar, equal to that of slots.
func slotOf(i market.Interval, t int64) calc.Slot {
	if i == market.Month1 {
		return calc.SlotOf(monthOf(t), 1)
	}
	return calc.SlotOf(t, max(1, i.Seconds()))
}

// monthOf numbers months, because they have no fixed length.
func monthOf(t int64) int64 {
	year, month, _ := time.Unix(t, 0).UTC().Date()
	return int64(12*year + int(month))
}

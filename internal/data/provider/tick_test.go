package provider_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
)

func TestTickAt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tick, price, want string
		digits            int
	}{
		{"0.01", "12345.67", "0.01", 0},
		{"0.1", "12345.6", "1", 5},
		{"0.1", "1234.5", "0.1", 5},
		{"0.1", "123456", "1", 5},
		{"0.000001", "0.0012345", "0.000001", 5},
		{"0.00000001", "0.0012345", "0.0000001", 5},
		{"0.000001", "1.23450", "0.0001", 5},
		{"0.01", "0", "0.01", 5},
	} {
		inst := provider.Instrument{Tick: decimal.RequireFromString(tc.tick), Digits: tc.digits}
		if got := inst.TickAt(decimal.RequireFromString(tc.price)); !got.Equal(decimal.RequireFromString(tc.want)) {
			t.Errorf("the tick at %s with %d digits is %v, want %s", tc.price, tc.digits, got, tc.want)
		}
	}
}

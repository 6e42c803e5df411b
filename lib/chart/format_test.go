package chart

import (
	"math"
	"testing"
)

func TestPriceNotation_ShowsWhatPricesUse(t *testing.T) {
	t.Parallel()
	for want, prices := range map[string][]float64{
		"60,004.25":         {59550.64, 60213.5, 60004.25},
		"0.0000123009":      {0.0000123009, 0.0000123, 0.0000123009},
		"0.0000013983":      {0.0000013983, 0.0000013984, 0.0000013983},
		"0.00001234":        {0.00001230, 0.00001234},
		"1.08512":           {1.085, 1.08512},
		"190.00":            {191, 190},
		"135.35":            {132.940002, 134.619995, 135.350006}, // kept in 32 bits
		"0.30":              {0.1 + 0.2},                          // not 0.30000000000000004
		"123.4568":          {123.456789},
		"1,234,568":         {1234567.891},
		"1.23009e\u221212":  {1.23009e-12},
		"1,200,000,000,000": {1.2e12},
		"1.000000e20":       {1e20},
		"\u22125.25":        {5, -5.25},
		"n/a":               {1, math.NaN()},
	} {
		if got := priceNotation(prices).text(prices[len(prices)-1]); got != want {
			t.Errorf("%v: %q, want %q", prices, got, want)
		}
	}
}

func TestValueNotation_FitsTheSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, v float64
		want    string
	}{
		{100, 58.5312, "58.53"},
		{4000, -64.97, "\u221264.97"},
		{250000, 123456.7, "123,457"},
		{50000, 12345.67, "12,345.7"},
		{0.8, 0.12345, "0.1235"},
		{0.0005, 0.00012346, "0.0001235"},
		{5e6, 1384000, "1.38M"},
		{5e9, -2.5e9, "\u22122.50B"},
		{1e20, 1e20, "1.000e20"},
		{0, 0, "0.00"},
		{100, -0.001, "0.00"},
	} {
		if got := valueNotation(span{-c.size, c.size}).text(c.v); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.v, c.size, got, c.want)
		}
	}
}

func TestCompact_KeepsThreeDigits(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 7: "7", 12.5: "12.5", 753: "753", 1382: "1.38K", 15000: "15.0K", 999949: "1.00M", 2e12: "2.00T", 3e15: "3e15", -1500: "\u22121.50K",
	} {
		if got := string(appendCompact(nil, v)); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

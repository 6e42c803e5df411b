package ta

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"candela/lib/market"
)

// plainVWAP returns the mean of bars [from, i] and their deviation around it.
func plainVWAP(b *market.Bars, from, i int) (mean, deviation float64) {
	price := func(k int) float64 { return (b.H[k] + b.L[k] + b.C[k]) / 3 }
	var weight, total, squares float64
	for k := from; k <= i; k++ {
		weight, total = weight+b.V[k], total+price(k)*b.V[k]
	}
	for k := from; k <= i; k++ {
		squares += b.V[k] * (price(k) - total/weight) * (price(k) - total/weight)
	}
	return total / weight, math.Sqrt(squares / weight)
}

func TestAnchoredVWAP_SecondDerivation(t *testing.T) {
	t.Parallel()
	const n = 400
	in := priceEnvs(t, market.Hour1, n)[1] // with sessions, so that a week has gaps
	b := in.Bars
	weekend := time.Date(2024, 1, 20, 0, 0, 0, 0, time.UTC).Unix() // a Saturday
	monday, highest, lowest := 0, n-150, n-150
	for i := range n {
		if monday == 0 && b.T[i] >= weekend {
			monday = i
		}
		if i >= n-150 && b.H[i] > b.H[highest] {
			highest = i
		}
		if i >= n-150 && b.L[i] < b.L[lowest] {
			lowest = i
		}
	}
	within := time.Unix(b.T[50]+600, 0).UTC().Format(time.RFC3339)
	for anchor, began := range map[string]func(i int) int{
		"2024-01-20": func(int) int { return monday },
		within:       func(int) int { return 50 },
		"high":       func(int) int { return highest },
		"low":        func(int) int { return lowest },
		"week": func(i int) int {
			for i > 0 && startOf("week", in.Calendar, b.T[i-1]) == startOf("week", in.Calendar, b.T[i]) {
				i--
			}
			return i
		},
	} {
		r := computeText(t, `anchored_vwap {"anchor":"`+anchor+`","bands":3,"length":150}`, in)
		line := func(k float64) func(int) float64 {
			return func(i int) float64 {
				if i < began(i) {
					return math.NaN()
				}
				mean, deviation := plainVWAP(b, began(i), i)
				return mean + k*deviation
			}
		}
		sameLine(t, anchor, lineOf(t, r, "AVWAP"), line(0))
		for k, name := range []string{"1", "2", "3"} {
			sameLine(t, anchor, lineOf(t, r, "Upper "+name), line(float64(k+1)))
			sameLine(t, anchor, lineOf(t, r, "Lower "+name), line(-float64(k+1)))
		}
		if anchor == "high" || anchor == "low" {
			if len(r.Signals) != 0 {
				t.Errorf("%s: signals of an anchor that moves", anchor)
			}
			continue
		}
		mean := lineOf(t, r, "AVWAP")
		expect(t, r, "cross_up", n, func(i int) bool {
			return began(i) < i && b.C[i-1] <= mean[i-1] && b.C[i] > mean[i]
		})
		expect(t, r, "cross_down", n, func(i int) bool {
			return began(i) < i && b.C[i-1] >= mean[i-1] && b.C[i] < mean[i]
		})
	}
}

// TestAnchoredVWAP_NeedsItsAnchor: without the bars at the anchor there is no value,
// because a later start would be another average.
func TestAnchoredVWAP_NeedsItsAnchor(t *testing.T) {
	t.Parallel()
	b := walk(50, 3)
	r := computedOn(t, `avwap {"anchor":"2020-01-01"}`, b)
	if x := r.Lines[0].Values[49]; x == x || !strings.Contains(r.Label, "no data") {
		t.Errorf("a value of %v for an anchor before the bars, label %q", x, r.Label)
	}
	if r := computedOn(t, `avwap {"anchor":"2024-01-02"}`, b); strings.Contains(r.Label, "no data") || r.Lines[0].Values[24] != r.Lines[0].Values[24] {
		t.Errorf("label %q, first value %v", r.Label, r.Lines[0].Values[24])
	}
}

func TestAnchoredVWAP_RefusesOtherAnchors(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`"2024-02-29"`: true, `"2024-02-29T14:30:00+02:00"`: true, `"HIGH"`: true,
		`"2023-02-29"`: false, `"yesterday"`: false, `"2024-02-29 14:30"`: false, `20240229`: false, `""`: false, `"1969-01-01"`: false,
	} {
		_, err := Resolve(Request{Name: "avwap", Params: map[string]json.RawMessage{"anchor": json.RawMessage(text)}})
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && !strings.Contains(err.Error(), "2026-03-01") {
			t.Errorf("%s: the error does not say what is allowed: %v", text, err)
		}
	}
	a, errA := Resolve(request(t, `avwap {"anchor":"2024-02-29T14:30:00+02:00"}`))
	b, errB := Resolve(request(t, `avwap {"anchor":"2024-02-29T12:30:00Z"}`))
	if errA != nil || errB != nil || a.Key() != b.Key() {
		t.Errorf("the same time has two keys: %v %v", errA, errB)
	}
}

func TestSessionLevels_SecondDerivation(t *testing.T) {
	t.Parallel()
	in := Input{Env: Env{Interval: market.Minute30}, Bars: sessionBars(market.Calendar{}, market.Minute30, 2_000, 71)}
	b := in.Bars
	for i := range b.T {
		b.T[i] += 70 * 24 * 3600 // over the change to summer time in New York, and that in London
	}
	for _, c := range []struct {
		session, line, zone string
		from, to            int
	}{
		{"running", "Session", "UTC", 0, 24},
		{"asia", "Asia", "Asia/Tokyo", 9, 18},
		{"london", "London", "Europe/London", 8, 17},
		{"new_york", "NY", "America/New_York", 8, 17},
		{"all", "London", "Europe/London", 8, 17},
		{"all", "NY", "America/New_York", 8, 17},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		within := func(i int) string { // the date of the session that holds bar i
			local := time.Unix(b.T[i], 0).In(zone)
			if local.Hour() < c.from || local.Hour() >= c.to {
				return ""
			}
			return local.Format(time.DateOnly)
		}
		extreme := func(x []float64, sign float64) func(int) float64 {
			return func(i int) float64 {
				for i >= 0 && within(i) == "" {
					i--
				}
				if i < 0 {
					return math.NaN()
				}
				best, day := x[i], within(i)
				for ; i >= 0 && within(i) == day; i-- {
					if sign*x[i] > sign*best {
						best = x[i]
					}
				}
				return best
			}
		}
		r := computeText(t, `session_levels {"session":"`+c.session+`"}`, in)
		sameLine(t, c.session, lineOf(t, r, c.line+" High"), extreme(b.H, 1))
		sameLine(t, c.session, lineOf(t, r, c.line+" Low"), extreme(b.L, -1))
	}
}

func TestRoundLevels_SecondDerivation(t *testing.T) {
	t.Parallel()
	for price, want := range map[float64]float64{
		65_000: 1_000, 20: 1, 19.99: 0.1, 200: 10, 1.08: 0.01, 0.0000123: 1e-7, 2e9: 1e8, 1e-9: 1e-11,
	} {
		if got := roundStep(price); got != want {
			t.Errorf("step at %v is %v, want %v", price, got, want)
		}
	}
	for _, price := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := roundStep(price); got == got {
			t.Errorf("step at %v is %v", price, got)
		}
	}
	b := walk(structureBars, 72)
	for i := range b.C { // cents, which are often at a level
		b.C[i] = math.Round(b.C[i]*4) / 4
	}
	r := computedOn(t, `round_levels {"step":0.5}`, b)
	half := func(i int) int { return int(math.Floor(2 * b.C[i])) } // exact
	sameLine(t, "below", lineOf(t, r, "Below"), func(i int) float64 { return float64(half(i)) / 2 })
	sameLine(t, "above", lineOf(t, r, "Above"), func(i int) float64 { return float64(half(i)+1) / 2 })
	expect(t, r, "cross_up", b.Len(), func(i int) bool { return half(i) > half(i-1) })
	expect(t, r, "cross_down", b.Len(), func(i int) bool { return half(i) < half(i-1) })
	tenth := market.MakeBars(3, false)
	for i, c := range []float64{0.29, 0.3, 0.28} { // 0.29/0.01 is below 29 in binary
		tenth.Append(market.Bar{T: int64(i) * 3600, O: c, H: c, L: c, C: c, V: 1})
	}
	got := lineOf(t, computedOn(t, `round_levels {"step":0.01}`, &tenth), "Below")
	if got[0] != 0.29 || got[1] != 0.3 || got[2] != 0.28 {
		t.Errorf("levels of hundredths are %v", got)
	}
}

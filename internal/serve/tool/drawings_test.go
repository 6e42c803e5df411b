package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"candela/internal/serve/tool/tooltest"
)

type drawnChart struct {
	Bars     []struct{ T *int64 }
	Drawings []struct {
		Type, Text string
		X, X2      *int
		T, T2      *int64
		Y          float64
		Y2         *float64
		Levels     []struct{ Ratio, Y float64 }
		Shown      bool
	}
}

func drawnBy(t *testing.T, arguments string) drawnChart {
	t.Helper()
	var got drawnChart
	result := call(t, twoCalendars(t).registry(t), "generate_chart", arguments)
	if err := json.Unmarshal(result.Content[0].Text, &got); err != nil || result.IsError {
		t.Fatalf("%s: %v %.500s", arguments, err, result.Content[0].Text)
	}
	return got
}

func TestDrawings_AreReturnedWithTheirBars(t *testing.T) {
	t.Parallel()
	// 24 hours of 25 March 2026 up to 15:00, and the days before: bar 0 opens on 24 March at 16:00.
	const head = `{"symbol":"COIN","interval":"1h","bars":24,"indicators":[],"format":"series","drawings":[`
	got := drawnBy(t, head+`
		{"type":"level","price":1},
		{"type":"line","time":"2026-03-24T16:30:00Z","price":65000,"time2":"2026-03-25","price2":66000,"text":" up \u202e "},
		{"type":"ray","time":"2026-03-23T16:00:00Z","price":65000,"time2":"2026-03-25T17:00:00+02:00","price2":66000},
		{"type":"BOX","time":"2026-03-24T15:59:59Z","price":65000,"time2":"2026-03-25T20:00:00Z","price2":66000},
		{"type":"fib","time":"2026-03-25","price":60000,"time2":"2026-03-24T20:00:00Z","price2":70000},
		{"type":"text","time":"2026-03-25T03:00:00Z","price":65000,"text":"news"}]}`)
	if len(got.Drawings) != 6 || len(got.Bars) != 24 {
		t.Fatalf("%+v", got)
	}
	for i, want := range [...][2]int{{}, {0, 8}, {-24, 23}, {-1, 28}, {8, 4}, {11, 0}} {
		d := got.Drawings[i]
		if i == 0 {
			if d.X != nil || d.T != nil || d.Y2 != nil || d.Y != 1 || d.Shown {
				t.Errorf("level: %+v", d)
			}
			continue
		}
		if d.X == nil || *d.X != want[0] || (d.X2 != nil) != (d.Type != "text") || d.X2 != nil && *d.X2 != want[1] {
			t.Errorf("%s: x %v x2 %v, want %v", d.Type, d.X, d.X2, want)
		}
		if *d.X >= 0 && *d.X < 24 && (*d.T < *got.Bars[*d.X].T || *d.T >= *got.Bars[*d.X].T+3600) {
			t.Errorf("%s: time %d is not in bar %d", d.Type, *d.T, *d.X)
		}
	}
	if line := got.Drawings[1]; line.Text != "up" || line.Type != "line" || got.Drawings[3].Type != "box" {
		t.Errorf("%+v", line)
	}
	fib := got.Drawings[4].Levels
	if len(fib) != 7 || fib[0].Y != 70000 || fib[6].Y != 60000 || fib[3].Y != 65000 || fib[4].Ratio != 0.618 || fib[4].Y != 63820 {
		t.Errorf("the retracement of a rise from 60000 to 70000: %+v", fib)
	}
}

func TestDrawings_TimesFollowTheCalendar(t *testing.T) {
	t.Parallel()
	// 14 bars of a stock: 13:30 to 19:30 UTC on 24 March, and 13:30 and 14:30 on 25 March.
	got := drawnBy(t, `{"symbol":"STOCK","interval":"1h","bars":9,"indicators":[],"format":"series","drawings":[
		{"type":"line","time":"2026-03-23T13:30:00Z","price":190,"time2":"2026-03-26T13:30:00Z","price2":190},
		{"type":"line","time":"2026-03-25T02:00:00Z","price":190,"time2":"2026-03-30T14:00:00Z","price2":190},
		{"type":"line","time":"1980-01-01","price":190,"time2":"9999-12-31","price2":190}]}`)
	if first := time.Unix(*got.Bars[0].T, 0).UTC(); first.Day() != 24 || first.Hour() != 13 {
		t.Fatalf("the first bar is of %v", first)
	}
	if a := got.Drawings[0]; *a.X != -7 || *a.X2 != 14 {
		t.Errorf("a day before and a day after: %d and %d", *a.X, *a.X2)
	}
	if b := got.Drawings[1]; *b.X != 6 || *b.X2 != 28 {
		t.Errorf("at night, and on Monday: %d and %d", *b.X, *b.X2)
	}
	if c := got.Drawings[2]; *c.X > -46*240*7 || *c.X < -47*262*7 || *c.X2 < 7900*240*7 {
		t.Errorf("far away: %d and %d", *c.X, *c.X2)
	}
}

func TestDrawings_OfSampleDataUseBarNumbers(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	text := string(call(t, registry, "generate_chart", `{"bars":50,"format":"summary","drawings":[{"type":"line","time":"#0","price":1,"time2":"#49","price2":2}]}`).Content[0].Text)
	if !strings.Contains(text, `"drawings":[{"type":"line","x":0,"t":null,"y":1,"x2":49,"t2":null,"y2":2,"shown":`) {
		t.Errorf("%.900s", text)
	}
}

func TestDrawings_Refusals(t *testing.T) {
	t.Parallel()
	registry := twoCalendars(t).registry(t)
	point := `"time":"2026-03-24","price":1,`
	for drawings, want := range map[string]string{
		`"line"`:             `"field":"drawings"`,
		`["line"]`:           `drawings[0]: invalid text \"line\"`,
		`[5]`:                `drawings[0]: invalid value \"5\"; use an object`,
		`[{"price":1}]`:      `drawings[0].type is required`,
		`[{"type":"level"}]`: `drawings[0].price is required`,
		`[{"type":"level","price":1,"time":"2026-03-24"}]`:                                      `drawings[0].time: invalid value \"2026-03-24T00:00:00Z\"; use no time with type level`,
		`[{"type":"line",` + point + `"time2":"2026-03-25"}]`:                                   `drawings[0].price2 is required: a number, without quotes; line has type, time, price, time2, price2`,
		`[{"type":"text",` + point + `"text":"a","price2":2}]`:                                  `drawings[0].price2: invalid value \"2\"; use no price2 with type text`,
		`[{"type":"text","time":"2026-03-24","price":1}]`:                                       `drawings[0].text is required`,
		`[{"type":"text",` + point + `"text":"\u202e"}]`:                                        `of which at least one is visible`,
		`[{"type":"text",` + point + `"text":"` + strings.Repeat("x", 81) + `"}]`:               `a text of 1 to 80 characters`,
		`[{"type":"ray",` + point + `"time2":"2026-03-23","price2":2}]`:                         `drawings[0].time2: invalid value \"2026-03-23T00:00:00Z\"; use a time after time, 2026-03-24T00:00:00Z`,
		`[{"type":"line",` + point + `"time2":1774310400,"price2":2}]`:                          `drawings[0].time2: invalid value \"1774310400\"; use a date such as`,
		`[{"type":"line",` + point + `"time2":"#5","price2":2}]`:                                `drawings[0].time2: invalid value \"#5\"; use a date such as`,
		`[{"type":"line",` + point + `"end":"2026-03-25","price2":2}]`:                          `drawings[0]: unknown argument \"end\"`,
		`[{"type":"level","price":1,"dash":"long"}]`:                                            `"field":"drawings[0].dash"`,
		`[{"type":"level","price":1e300}]`:                                                      `drawings[0].price`,
		`[` + strings.Repeat(`{"type":"level","price":1},`, 20) + `{"type":"level","price":1}]`: `at most 20 drawings`,
	} {
		result := call(t, registry, "generate_chart", `{"symbol":"COIN","interval":"1h","format":"summary","drawings":`+drawings+`}`)
		if text := string(result.Content[0].Text); !result.IsError || !strings.Contains(text, want) {
			t.Errorf("%s: %.500s, want %s", drawings, text, want)
		}
	}
	sample := call(t, registry, "generate_chart", `{"format":"summary","drawings":[{"type":"text","time":"2026-03-24","price":1,"text":"x"}]}`)
	if text := string(sample.Content[0].Text); !sample.IsError {
		t.Errorf("%.300s", text)
	}
}

// A picture whose text no font has is followed by a text which names the characters.
func TestDrawings_NameTheCharactersThatAreBoxes(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, nil)
	result := call(t, registry, "generate_chart", `{"bars":40,"indicators":[],"drawings":[{"type":"text","time":"#20","price":560,"text":"\u4e70\u5165 buy"}]}`)
	if len(result.Content) != 2 || !strings.Contains(string(result.Content[1].Text), "(U+4E70)") {
		t.Errorf("%d contents, the last is %.300s", len(result.Content), result.Content[len(result.Content)-1].Text)
	}
}

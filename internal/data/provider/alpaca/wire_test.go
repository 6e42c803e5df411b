package alpaca

import (
	"strings"
	"testing"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

const page = `{"bars":{"AAPL":[{"t":"2022-04-11T04:00:00Z","o":168.77,"h":169.03,"l":166.1,"c":166.975,"v":40180280,"n":435528,"vw":167.08951}]},` +
	`"next_page_token":"VFNMQXxEfDIwMjItMDQtMTFUMDQ6MDA6MDAuMDAwMDAwMDAwWg=="}`

func TestReadBars(t *testing.T) {
	t.Parallel()
	rows, next, err := readBars([]byte(page), "AAPL")
	if err != nil || len(rows) != 1 || next != "VFNMQXxEfDIwMjItMDQtMTFUMDQ6MDA6MDAuMDAwMDAwMDAwWg==" {
		t.Fatalf("%+v, %q, %v", rows, next, err)
	}
	if b := rows[0]; b.T != 1649649600 || b.O != 168.77 || b.H != 169.03 || b.L != 166.1 || b.C != 166.975 || b.V != 40180280 {
		t.Errorf("got %+v", b)
	}
	for _, empty := range []string{`{"bars":{},"next_page_token":null}`, `{"bars":null,"next_page_token":null}`, `{"bars":{"AAPL":[]},"next_page_token":null}`} {
		if rows, next, err := readBars([]byte(empty), "AAPL"); err != nil || len(rows) != 0 || next != "" {
			t.Errorf("%s: %v, %q, %v", empty, rows, next, err)
		}
	}
	swap := func(old, changed string) string { return strings.Replace(page, old, changed, 1) }
	for name, tc := range map[string]struct{ body, want string }{
		"nothing":            {"", "byte 0"},
		"a page":             {"<html>", "byte 0"},
		"half":               {page[:80], "byte"},
		"more":               {page + "]", "the end"},
		"no bars":            {`{"next_page_token":null}`, "no bars"},
		"no token":           {`{"bars":{}}`, "no next_page_token"},
		"another symbol":     {swap(`"AAPL"`, `"AAPX"`), `"AAPX"`},
		"a price in quotes":  {swap("169.03", `"169.03"`), "want a number"},
		"a price of null":    {swap("169.03", "null"), "want a number"},
		"a price missing":    {swap(`"h":169.03,`, ""), "without all"},
		"a time as a number": {swap(`"2022-04-11T04:00:00Z"`, "1649649600"), "want a string"},
		"a time of no kind":  {swap("2022-04-11T04:00:00Z", "yesterday"), "want a time"},
		"low above high":     {swap("169.03", "160"), "high"},
		"T for t":            {swap(`"t":`, `"T":`), "without all"},
		"a list of symbols":  {`{"bars":[],"next_page_token":null}`, "an object"},
	} {
		if _, _, err := readBars([]byte(tc.body), "AAPL"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestReadLatestAndAsset(t *testing.T) {
	t.Parallel()
	latest := `{"bars":{"AAPL":{"t":"2022-04-11T04:00:00Z","o":1,"h":2,"l":1,"c":1.5,"v":9}}}`
	if price, err := readLatest([]byte(latest), "AAPL"); err != nil || price != 1.5 {
		t.Error(price, err)
	}
	if price, err := readLatest([]byte(`{"bars":{}}`), "AAPL"); err != nil || price != 0 {
		t.Error(price, err)
	}
	for _, body := range []string{`{}`, latest[:30], strings.Replace(latest, "AAPL", "X", 1)} {
		if _, err := readLatest([]byte(body), "AAPL"); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
	good := `{"id":"x","class":"us_equity","symbol":"AAPL","fractionable":true}`
	if a, err := readAsset([]byte(good), "AAPL"); err != nil || a.class != "us_equity" || !a.fractionable {
		t.Error(a, err)
	}
	for _, body := range []string{`{}`, `[]`, good[:20], strings.Replace(good, "AAPL", "AAPX", 1), strings.Replace(good, "true", `"yes"`, 1), strings.Replace(good, `"us_equity"`, "null", 1)} {
		if _, err := readAsset([]byte(body), "AAPL"); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
	if code, text := ReadRefusal([]byte(`{"code":42210000,"message":"no"}`)); code != "42210000" || text != "no" {
		t.Error(code, text)
	}
	if code, text := ReadRefusal([]byte(`{"code":`)); code != "" || text != "" {
		t.Error(code, text)
	}
}

// documented are the frames of the venue's documentation.
func documented() []string {
	return []string{
		`[{"T":"success","msg":"connected"}]`,
		`[{"T":"subscription","trades":["AAPL"],"quotes":["AMD"],"bars":["AAPL","VOO"]}]`,
		`[{"T":"b","S":"SPY","o":388.985,"h":389.13,"l":388.975,"c":389.12,"v":49378,"t":"2021-02-22T19:15:00Z"}]`,
		`[{"T":"t","i":96921,"S":"AAPL","x":"D","p":126.55,"s":1,"t":"2021-02-22T15:51:44.208Z","c":["@","I"],"z":"C"}]`,
		`[{"T":"q","S":"AMD","bx":"U","bp":87.66,"bs":1,"ax":"Q","ap":87.68,"as":4,"t":"2021-02-22T15:51:45.335689322Z","c":["R"],"z":"C"}]`,
		`[{"T":"error","code":402,"msg":"auth failed"}]`,
	}
}

func TestReadMessages(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, frame := range documented() {
		messages, err := readMessages([]byte(frame))
		if err != nil || len(messages) != 1 {
			t.Fatalf("%s: %v", frame, err)
		}
		kinds = append(kinds, messages[0].kind)
		switch m := messages[0]; m.kind {
		case "b":
			if m.symbol != "SPY" || m.bar.T != 1614021300 || m.bar.C != 389.12 || m.bar.V != 49378 {
				t.Errorf("a bar reads %+v", m)
			}
		case "t":
			if m.symbol != "AAPL" || m.price != 126.55 || m.at.UnixMilli() != 1614009104208 || m.odd {
				t.Errorf("a trade reads %+v", m)
			}
		}
	}
	if got := strings.Join(kinds, " "); got != "success subscription b t q error" {
		t.Error(got)
	}
	late := strings.Replace(documented()[3], `["@","I"]`, `["@","Z"]`, 1)
	if m, err := readMessages([]byte(late)); err != nil || !m[0].odd {
		t.Errorf("a report out of order: %+v, %v", m, err)
	}
	for _, frame := range []string{
		"", "{}", "[1]", "[{}]", `[{"T":1}]`, `[{"T":"b"}]`, `[{"T":"t","S":"A"}]`, `[{"T":"b","S":"A"`,
		strings.Replace(documented()[2], `"S":"SPY",`, "", 1),
		strings.Replace(documented()[2], `"c":389.12`, `"c":"389.12"`, 1),
		strings.Replace(documented()[3], `"p":126.55`, `"p":0`, 1),
	} {
		if m, err := readMessages([]byte(frame)); err == nil {
			t.Errorf("%s reads %+v", frame, m)
		}
	}
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]fault.Kind{
		400: fault.Unavailable, 401: fault.Unauthorized, 402: fault.Unauthorized, 404: fault.Unavailable, 405: fault.Invalid,
		406: fault.Unavailable, 407: fault.Unavailable, 409: fault.Unauthorized, 500: fault.Unavailable,
	} {
		f := fault.Of(complaint(code, "words", "iex"))
		if f == nil || f.Kind != want || f.Retryable != (want == fault.Unavailable) || !strings.HasPrefix(f.Message, "alpaca stream: ") {
			t.Errorf("%d: %v", code, f)
		}
	}
}

func FuzzReadBars(f *testing.F) {
	f.Add(page)
	f.Add(`{"bars":{},"next_page_token":null}`)
	f.Add(page[:90])
	f.Add("<!DOCTYPE html>")
	f.Add(strings.Replace(page, "169.03", "null", 1))
	f.Fuzz(func(t *testing.T, body string) {
		rows, _, err := readBars([]byte(body), "AAPL")
		if err != nil && rows != nil {
			t.Fatal("bars with an error")
		}
		for _, row := range rows {
			if err := row.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzReadMessages holds that whatever comes over the stream is an error or
// makes sound bars.
func FuzzReadMessages(f *testing.F) {
	for _, frame := range documented() {
		f.Add(frame)
		f.Add(frame[:len(frame)/2])
	}
	f.Add(`[{"T":"b","S":"SPY","o":1,"h":1,"l":1,"c":1,"v":1,"t":"2025-07-09T13:31:00Z"},{"T":"u","S":"SPY","o":1,"h":1,"l":1,"c":1,"v":2,"t":"2025-07-09T13:30:00Z"}]`)
	f.Fuzz(func(t *testing.T, frame string) {
		messages, err := readMessages([]byte(frame))
		if err != nil {
			return
		}
		hours, err := market.NewCalendar(market.USEquities())
		if err != nil {
			t.Fatal(err)
		}
		b := newBuilder(provider.Sub{Interval: market.Minute5}, hours, 0)
		for _, m := range messages {
			if m.kind != "b" && m.kind != "u" {
				continue
			}
			for _, e := range b.take(m.kind, m.bar) {
				if err := e.Bar.Check(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

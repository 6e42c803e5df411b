package csv_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/sample"
	"candela/internal/testkit/sharedtest"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const header = "time,open,high,low,close,volume\n"

// write puts a file into a folder, with a time of long ago, so that it is settled.
func write(tb testing.TB, dir, file, text string) {
	tb.Helper()
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	touch(tb, path, time.Hour)
	touch(tb, dir, time.Duration(len(file)+1)*time.Minute)
}

func touch(tb testing.TB, path string, ago time.Duration) {
	tb.Helper()
	then := time.Now().Add(-ago)
	if err := os.Chtimes(path, then, then); err != nil {
		tb.Fatal(err)
	}
}

// text returns bars as a file holds them.
func text(bars *market.Bars) string {
	var b strings.Builder
	b.WriteString("time,open,high,low,close,volume,taker_buy\n")
	for i := range bars.T {
		bar := bars.At(i)
		b.WriteString(strconv.FormatInt(bar.T, 10))
		for _, v := range []float64{bar.O, bar.H, bar.L, bar.C, bar.V, bar.TakerBuy} {
			b.WriteByte(',')
			if !math.IsNaN(v) {
				b.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func sampleBars(tb testing.TB, i market.Interval, n int) market.Bars {
	tb.Helper()
	page, err := sample.New(sample.Config{}).Bars(tb.Context(), provider.BarQuery{Interval: i, Limit: n, To: 1735603200})
	if err != nil {
		tb.Fatal(err)
	}
	return page.Bars
}

func open(tb testing.TB, c csv.Config) *csv.Provider {
	tb.Helper()
	p, err := csv.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func read(tb testing.TB, p *csv.Provider, symbol string, i market.Interval) (provider.BarPage, error) {
	tb.Helper()
	return p.Bars(tb.Context(), provider.BarQuery{Symbol: market.Symbol{Name: symbol}, Interval: i})
}

func TestProvider_KeepsTheContract(t *testing.T) {
	dir := t.TempDir()
	hours := sampleBars(t, market.Hour1, 1000)
	write(t, dir, "MADE_1h.csv", text(&hours))
	for name, iv := range map[string]market.Interval{"read": market.Hour1, "built": market.Hour4} {
		t.Run(name, func(t *testing.T) {
			providertest.Run(t, providertest.Target{
				New: func(tb testing.TB) provider.Provider {
					tb.Helper()
					p, err := csv.New(csv.Config{Dir: dir})
					if err != nil {
						tb.Fatal(err)
					}
					return p
				},
				Symbol: market.Symbol{Name: "MADE"}, Unknown: market.Symbol{Name: "OTHER"},
				Interval: iv, From: hours.T[100], To: hours.T[900],
			})
		})
	}
}

func TestProvider_ReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := sampleBars(t, market.Hour1, 500)
	write(t, dir, "MADE_1h.csv", text(&want))
	page, err := read(t, open(t, csv.Config{Dir: dir}), "MADE", market.Hour1)
	if err != nil || page.Bars.Len() != want.Len() || page.Running || page.Built != 0 {
		t.Fatalf("%d bars, %v", page.Bars.Len(), err)
	}
	for i := range want.T {
		if !page.Bars.At(i).Equal(want.At(i)) {
			t.Fatalf("bar %d is %+v, was %+v", i, page.Bars.At(i), want.At(i))
		}
	}
}

func TestProvider_AcceptsVariants(t *testing.T) {
	t.Parallel()
	const row = "3600,1,2,0.5,1.5,10"
	for name, body := range map[string]string{
		"plain":                  header + row + "\n",
		"no newline at the end":  header + row,
		"carriage returns":       strings.ReplaceAll(header+row+"\n", "\n", "\r\n"),
		"a byte order mark":      "\ufeff" + header + row,
		"capitals in the header": "Time,Open,High,Low,Close,Volume\n" + row,
		"other columns":          "id,time,open,high,low,close,volume,adj_close\n7," + row + ",9\n",
		"another order":          "volume,close,low,high,open,time\n10,1.5,0.5,2,1,3600\n",
		"RFC 3339":               header + "1970-01-01T01:00:00Z,1,2,0.5,1.5,10",
		"RFC 3339 with a zone":   header + "1970-01-01T02:00:00+01:00,1,2,0.5,1.5,10",
		"quotes":                 header + `"3600","1","2","0.5","1.5","10"`,
		"exponents":              header + "3600,1e0,2,5e-1,1.5,1E1",
		"an unknown taker buy":   "time,open,high,low,close,volume,taker_buy\n" + row + ",",
		"the same row again":     header + row + "\n" + row + "\n" + row,
		"empty lines":            header + "\n" + row + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "X_1h.csv", body)
			page, err := read(t, open(t, csv.Config{Dir: dir}), "X", market.Hour1)
			want := market.Bar{T: 3600, O: 1, H: 2, L: 0.5, C: 1.5, V: 10, TakerBuy: math.NaN()}
			if err != nil || page.Bars.Len() != 1 || !page.Bars.At(0).Equal(want) {
				t.Errorf("%+v, %v", page.Bars, err)
			}
		})
	}
}

func TestProvider_RefusesABrokenFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, want string }{
		"nothing":                   {"", "X_1h.csv is empty"},
		"no volume column":          {"time,open,high,low,close\n", `line 1: no column volume; the first line is "time,open,high,low,close"`},
		"no header":                 {"3600,1,2,0.5,1.5,10\n", "line 1: no column time"},
		"a column twice":            {"time,open,high,low,close,volume,open\n", "line 1: two columns are called open"},
		"a word for a price":        {header + "3600,1,2,0.5,1.5,10\n7200,1,abc,0.5,1.5,10\n", `X_1h.csv line 3, column high: "abc" is not a finite decimal number`},
		"NaN":                       {header + "3600,NaN,2,0.5,1.5,10\n", `line 2, column open: "NaN"`},
		"an infinity":               {header + "3600,1,Inf,0.5,1.5,10\n", `column high: "Inf"`},
		"a number too large":        {header + "3600,1,1e999,0.5,1.5,10\n", `column high: "1e999"`},
		"hexadecimal":               {header + "3600,0x1p0,2,0.5,1.5,10\n", `column open: "0x1p0"`},
		"an empty price":            {header + "3600,,2,0.5,1.5,10\n", `column open: ""`},
		"a comma for a point":       {header + `3600,"1,5",2,0.5,1.5,10` + "\n", `column open: "1,5"`},
		"a date that is none":       {header + "2021-02-30,1,2,0.5,1.5,10\n", `line 2, column time: "2021-02-30" is no time; write unix seconds, a date such as 2024-01-31, or RFC 3339`},
		"part of a second":          {header + "1970-01-01T01:00:00.5Z,1,2,0.5,1.5,10\n", "column time"},
		"milliseconds":              {header + "1609459200000,1,2,0.5,1.5,10\n", "line 2: bar 1609459200000: open time is not in unix seconds"},
		"low above high":            {header + "3600,1,2,1.2,1.5,10\n", "line 2: bar 1970-01-01T01:00:00Z: low 1.2 is above open 1"},
		"negative volume":           {header + "3600,1,2,0.5,1.5,-10\n", "volume -10 is negative"},
		"a bar between two bars":    {header + "3601,1,2,0.5,1.5,10\n", `line 2, column time: "3601" is not the open of a bar of 1h`},
		"rows that run back":        {header + "7200,1,2,0.5,1.5,10\n3600,1,2,0.5,1.5,10\n", `line 3, column time: "3600" is earlier than the row before (1970-01-01T02:00:00Z)`},
		"two rows that disagree":    {header + "3600,1,2,0.5,1.5,10\n3600,1,2,0.5,1.5,11\n", `line 3, column time: "3600" stands in the row before too, with other values`},
		"a short row":               {header + "3600,1,2,0.5,1.5\n", "line 2: wrong number of fields"},
		"a quote that never ends":   {header + "\"3600,1,2,0.5,1.5,10\n", "extraneous or missing \" in quoted-field"},
		"taker buy beyond volume":   {"time,open,high,low,close,volume,taker_buy\n3600,1,2,0.5,1.5,10,11\n", "taker-buy volume 11 is outside 0 to 10"},
		"a word for taker buy":      {"time,open,high,low,close,volume,taker_buy\n3600,1,2,0.5,1.5,10,x\n", `column taker_buy: "x"`},
		"a cell of a megabyte":      {header + "3600," + strings.Repeat("9x", 1<<19) + ",2,0.5,1.5,10\n", "column open"},
		"a header of a megabyte":    {strings.Repeat("a", 1<<20) + "\n", "line 1: no column time"},
		"binary":                    {"\x00\x01\x02", "line 1: no column time"},
		"a broken quote in header":  {"\"time\n", "line 1"},
		"lines after an empty line": {header + "\n\n3600,1,2,9,1.5,10\n", "line 4: bar"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "X_1h.csv", tc.body)
			_, err := read(t, open(t, csv.Config{Dir: dir}), "X", market.Hour1)
			f := fault.Of(err)
			if f == nil || f.Kind != fault.Unavailable || f.Retryable || f.Code != "bad_file" || !strings.Contains(f.Message, tc.want) || !strings.Contains(f.Message, "X_1h.csv") || len(f.Message) > 400 {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestProvider_FileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const body = header + "345600,1,2,0.5,1.5,10\n2678400,1,2,0.5,1.5,10\n"
	for _, s := range []string{"BTC/USD", "^GSPC", "BRK-B", "A_B", "EURUSD=X", "7203.T"} {
		sym, err := market.ParseSymbol(s)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, strings.NewReplacer("/", "%2F", "^", "%5E").Replace(sym.Name)+"_1d.csv", body)
	}
	write(t, dir, "MONTH_1mo.csv", header+"2678400,1,2,0.5,1.5,10\n")
	for _, ignored := range []string{"lower_1h.csv", "NOINTERVAL.csv", "X_60.csv", "X_7x.csv", "X_120m.csv", "X_1h.txt", "BTC%2fUSD_1h.csv", "%41_1h.csv", "_1h.csv", "V%3AX_1h.csv", "X%_1h.csv", "README.md"} {
		write(t, dir, ignored, body)
	}
	p := open(t, csv.Config{Dir: dir})
	for _, s := range []string{"BTC/USD", "^GSPC", "BRK-B", "A_B", "EURUSD=X", "7203.T"} {
		if page, err := read(t, p, s, market.Day1); err != nil || page.Bars.Len() != 2 {
			t.Errorf("%s: %d bars, %v", s, page.Bars.Len(), err)
		}
	}
	if page, err := read(t, p, "MONTH", market.Month1); err != nil || page.Bars.Len() != 1 {
		t.Errorf("MONTH: %v", err)
	}
	for _, s := range []string{"LOWER", "X", "NOINTERVAL", "A", "V:X", "README"} {
		if _, err := read(t, p, s, market.Hour1); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", s, err)
		}
	}
	_, err := read(t, p, "BRK-A", market.Day1)
	if f := fault.Of(err); f == nil || !slices.Contains(f.Suggestions, "BRK-B") {
		t.Errorf("BRK-A: %v", err)
	}
}

func TestProvider_NothingOutsideTheFolder(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	dir := filepath.Join(outer, "bars")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, outer, "SECRET_1h.csv", header+"3600,1,2,0.5,1.5,10\n")
	if err := os.Symlink(filepath.Join(outer, "SECRET_1h.csv"), filepath.Join(dir, "LINK_1h.csv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../SECRET_1h.csv", filepath.Join(dir, "UP_1h.csv")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "REAL_1h.csv", header+"3600,1,2,0.5,1.5,10\n")
	if err := os.Symlink("REAL_1h.csv", filepath.Join(dir, "INSIDE_1h.csv")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "DIR_1h.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := open(t, csv.Config{Dir: dir})
	for _, s := range []string{"SECRET", "../SECRET", "..%2FSECRET", "/SECRET", "LINK", "UP", "DIR", "", "."} {
		// Symbols are built by hand here: the parser would refuse most of them.
		if _, err := read(t, p, s, market.Hour1); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"REAL", "INSIDE"} {
		if _, err := read(t, p, s, market.Hour1); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestProvider_BuildsFromTheLongestThatDivides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hours := sampleBars(t, market.Hour1, 200)
	hours = hours.Slice(1, hours.Len()) // begins and ends inside a bar of 4h
	hours = hours.Slice(0, hours.Len()-2)
	var holed market.Bars
	for i := range hours.T {
		if i != 50 {
			holed.Append(hours.At(i))
		}
	}
	write(t, dir, "X_1h.csv", text(&holed))
	write(t, dir, "X_15m.csv", header+"broken\n")
	p := open(t, csv.Config{Dir: dir})
	page, err := read(t, p, "X", market.Hour4)
	if err != nil {
		t.Fatal(err)
	}
	want := market.Gap{From: hours.T[50], To: hours.T[51], Missing: 1}
	if page.Built != market.Hour1 || !slices.Equal(page.Holes, []market.Gap{want}) || !page.Running {
		t.Errorf("built from %v, holes %+v, running %v", page.Built, page.Holes, page.Running)
	}
	if page.Bars.T[0] < hours.T[0] {
		t.Error("the first bar opens before the file does")
	}
	part, err := p.Bars(t.Context(), provider.BarQuery{Symbol: market.Symbol{Name: "X"}, Interval: market.Hour4, From: hours.T[60]})
	if err != nil || len(part.Holes) != 0 {
		t.Errorf("a page after the hole reports %+v, %v", part.Holes, err)
	}
	_, err = read(t, p, "X", market.Minute1)
	if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Field != "interval" || !strings.Contains(f.Allowed, "the files of X: 15m 1h") {
		t.Errorf("1m: %v", err)
	}
}

func TestProvider_LastBarRunsByTheClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "X_1h.csv", header+"3600,1,2,0.5,1.5,10\n7200,1.5,2,0.5,1.5,10\n")
	for now, want := range map[int64]bool{7200 + 3599: true, 7200 + 3600: false} {
		p := open(t, csv.Config{Dir: dir, Now: func() time.Time { return time.Unix(now, 0) }})
		page, err := read(t, p, "X", market.Hour1)
		if err != nil || page.Running != want {
			t.Errorf("at %d running is %v, %v", now, page.Running, err)
		}
		if page, err = p.Bars(t.Context(), provider.BarQuery{Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1, To: 7200}); err != nil || page.Running {
			t.Errorf("an older page runs: %v", err)
		}
	}
}

func TestProvider_SeesChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t, csv.Config{Dir: dir})
	count := func(symbol string) int {
		page, err := read(t, p, symbol, market.Hour1)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			t.Fatal(err)
		}
		return page.Bars.Len()
	}
	rows := header
	for i := range 5 {
		rows += fmt.Sprintf("%d,1,2,0.5,1.5,10\n", (i+1)*3600)
		write(t, dir, "X_1h.csv", rows)
		touch(t, filepath.Join(dir, "X_1h.csv"), time.Duration(10-i)*time.Hour)
		if n := count("X"); n != i+1 {
			t.Errorf("after %d rows there are %d bars", i+1, n)
		}
	}
	if count("Y") != 0 {
		t.Error("Y is there before it is written")
	}
	write(t, dir, "YYY_1h.csv", rows)
	if count("YYY") != 5 {
		t.Error("a new file is not seen")
	}
	if err := os.Remove(filepath.Join(dir, "X_1h.csv")); err != nil {
		t.Fatal(err)
	}
	if count("X") != 0 {
		t.Error("a file that is gone is still served")
	}
}

func TestProvider_KeepsAFileInMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bars := sampleBars(t, market.Hour1, 100)
	for i := range 70 { // more than are kept
		write(t, dir, fmt.Sprintf("X%d_1h.csv", i), text(&bars))
	}
	p := open(t, csv.Config{Dir: dir})
	first, err := read(t, p, "X0", market.Hour1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read(t, p, "X0", market.Hour1)
	if err != nil || &first.Bars.T[0] != &again.Bars.T[0] {
		t.Errorf("an unchanged file is read twice: %v", err)
	}
	for i := range 70 {
		if _, err := read(t, p, fmt.Sprintf("X%d", i), market.Hour1); err != nil {
			t.Fatal(err)
		}
	}
	if again, err = read(t, p, "X0", market.Hour1); err != nil || &first.Bars.T[0] == &again.Bars.T[0] {
		t.Errorf("nothing is ever let go: %v", err)
	}
}

func TestProvider_StopsReadingWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bars := sampleBars(t, market.Hour1, 5000)
	write(t, dir, "X_1h.csv", text(&bars))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(t, csv.Config{Dir: dir}).Bars(ctx, provider.BarQuery{Symbol: market.Symbol{Name: "X"}, Interval: market.Hour1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNew_RefusesAFolderThatIsNone(t *testing.T) {
	t.Parallel()
	if _, err := csv.New(csv.Config{Dir: filepath.Join(t.TempDir(), "missing")}); err == nil {
		t.Error("a missing folder is taken")
	}
	p := open(t, csv.Config{Dir: t.TempDir()})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := read(t, p, "X", market.Hour1)
	if f := fault.Of(err); f == nil || f.Code != "bad_folder" {
		t.Errorf("after Close: %v", err)
	}
}

func TestProvider_ReadsTheSharedFiles(t *testing.T) {
	t.Parallel()
	dir := sharedtest.Path(t, "data")
	p := open(t, csv.Config{Dir: dir})
	for _, tc := range []struct {
		symbol string
		iv     market.Interval
		bars   int
	}{{"BTCUSDT", market.Hour1, 4309}, {"ETHUSDT", market.Hour1, 4309}, {"BTCUSDT", market.Day1, 14}, {"AAPL", market.Day1, 506}} {
		page, err := read(t, p, tc.symbol, tc.iv)
		if err != nil || page.Bars.Len() != tc.bars {
			t.Errorf("%s %v: %d bars, %v", tc.symbol, tc.iv, page.Bars.Len(), err)
		}
	}
	page, err := read(t, p, "BTCUSDT", market.Hour4)
	missing := 0
	for _, g := range page.Holes {
		missing += g.Missing
	}
	if err != nil || page.Built != market.Hour1 || len(page.Holes) != 7 || missing != 12 {
		t.Errorf("4h built from %v with holes %+v, %v", page.Built, page.Holes, err)
	}
	weekdays, err := market.NewCalendar(market.UTCWeekdays())
	if err != nil {
		t.Fatal(err)
	}
	if page, err := read(t, open(t, csv.Config{Dir: dir, Calendar: weekdays}), "AAPL", market.Week1); err != nil || page.Bars.Len() < 100 {
		t.Errorf("weeks of AAPL: %d, %v", page.Bars.Len(), err)
	}
}

// TestProvider_DropsRealDuplicatesAndFillsNoHole reads the raw rows of a venue,
// in the layout of this package.
func TestProvider_DropsRealDuplicatesAndFillsNoHole(t *testing.T) {
	t.Parallel()
	raw := sharedtest.Bars(t, "data/BTCUSDT_1h_raw.csv")
	dir := t.TempDir()
	write(t, dir, "RAW_1h.csv", text(&raw))
	page, err := read(t, open(t, csv.Config{Dir: dir}), "RAW", market.Hour1)
	if err != nil || page.Bars.Len() != raw.Len()-5 {
		t.Fatalf("%d bars of %d rows, %v", page.Bars.Len(), raw.Len(), err)
	}
	holes, err := market.Gaps(&page.Bars, market.Hour1, market.Calendar{})
	if err != nil || len(holes.Gaps) != 7 {
		t.Errorf("%d holes, %v", len(holes.Gaps), err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", header, header + "3600,1,2,0.5,1.5,10\n", "\ufeff" + header + "1970-01-01T01:00:00Z,1,2,0.5,1.5,10\n",
		header + "3600,1,2,0.5,1.5,10\n3600,1,2,0.5,1.5,10\n7200,NaN,2,0,1,1\n", header + "\"3600\n", "time,time\n", "a,b\n1\n",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		write(t, dir, "X_1h.csv", string(data))
		touch(t, filepath.Join(dir, "X_1h.csv"), 0) // not settled, so never from memory
		page, err := read(t, open(t, csv.Config{Dir: dir}), "X", market.Hour1)
		if err != nil {
			if f := fault.Of(err); f == nil || f.Kind != fault.Unavailable || f.Retryable || f.Code != "bad_file" || len(f.Message) > 600 {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		if err := page.Bars.Check(); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
	})
}

func BenchmarkBars(b *testing.B) {
	dir := b.TempDir()
	bars := sampleBars(b, market.Minute1, 5000)
	write(b, dir, "X_1m.csv", text(&bars))
	p := open(b, csv.Config{Dir: dir})
	b.Run("from-memory", func(b *testing.B) {
		for b.Loop() {
			if _, err := read(b, p, "X", market.Minute1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("from-disk", func(b *testing.B) {
		for b.Loop() {
			cold := open(b, csv.Config{Dir: dir})
			if _, err := read(b, cold, "X", market.Minute1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

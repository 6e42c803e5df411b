package eval

import (
	"slices"
	"strings"

	"candela/lib/pine/check"
)

// maxTimeframes is how many timeframes a request may choose from.
const maxTimeframes = 16

// maxSeries is how many series a script may request in all.
const maxSeries = 128

// maxSymbols is how many symbols a request may choose from.
const maxSymbols = 64

// series names what a request with a changing symbol or timeframe may read, as the script
// writes it.
type series struct {
	symbol, timeframe string
}

// chosen is what a request chooses by: the values of its symbol and timeframe, nil for one
// that does not change, and the texts that they may be.
type chosen struct {
	symbol, timeframe   num
	symbols, timeframes []string
}

// timeframes returns the timeframes that a request may choose from while the script runs,
// none if its timeframe does not change.
func (c *compiler) timeframes(q *check.Request, call *check.Call) []string {
	arg := call.Arg("timeframe")
	if arg == nil || arg.Qual() <= check.SimpleQ {
		return nil
	}
	first, ok := c.firstText(q, arg)
	if ok && !q.Varies {
		return nil
	}
	texts := c.timeframesOf(q)
	if ok && !slices.Contains(texts, first) {
		texts = append(texts, first)
	}
	switch n := len(texts); {
	case n <= maxTimeframes && len(c.m.requests)+n <= maxSeries:
		return texts
	case ok:
		return nil
	case n > maxTimeframes:
		c.m.fail(call.Where().From, CodeMissing, "The timeframe of %s may be any of %d that the script writes; candela reads at most %d for one request. Write one request for each timeframe.", call.Builtin.Name, n, maxTimeframes)
	default:
		c.m.fail(call.Where().From, CodeMissing, "The script requests more than %d series: the timeframe of %s may be any of %d. Let it choose from fewer.", maxSeries, call.Builtin.Name, n)
	}
	return nil
}

// timeframesOf returns the texts that a request may choose from, as far as they are
// timeframes or lists of them.
func (c *compiler) timeframesOf(q *check.Request) []string {
	var texts []string
	for _, e := range q.Timeframes {
		k, ok := e.(*check.Const)
		if ok && len(timeframesIn(k.Str)) == 0 {
			continue
		}
		for _, text := range timeframesIn(c.m.heap.text(c.num(e)())) {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// timeframesIn returns the timeframes of a text such as 60 or "60, 240, D", none if anything else is in it.
func timeframesIn(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;|", r) })
	if slices.ContainsFunc(list, func(s string) bool { return !isTimeframe(s) }) {
		return nil
	}
	return list
}

// isTimeframe reports whether a text has the form of a timeframe, such as 60 or 1D.
func isTimeframe(text string) bool {
	number := strings.TrimRight(text, "SDWM")
	switch {
	case text == "" || text == "S" || len(text) > len(number)+1 || len(number) > 5:
		return false
	case number == "":
		return true
	}
	return number[0] != '0' && strings.Trim(number, "0123456789") == ""
}

// symbols returns the symbols that a request may choose from while the script runs, none if
// its symbol does not change.
func (c *compiler) symbols(q *check.Request, call *check.Call) []string {
	arg := call.Arg("symbol")
	if arg == nil || arg.Qual() <= check.SimpleQ {
		return nil
	}
	first, ok := c.firstText(q, arg)
	if ok && !q.SymbolVaries {
		return nil
	}
	var names []string
	for _, e := range q.Symbols {
		for _, name := range symbolsIn(c.m.heap.text(c.num(e)())) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if ok && !slices.Contains(names, first) {
		names = append(names, first)
	}
	switch n := len(names); {
	case ok && n == 1, n > maxSymbols && ok, len(c.m.requests)+n > maxSeries && ok:
		return nil
	case n > maxSymbols || len(c.m.requests)+n > maxSeries:
		c.m.fail(call.Where().From, CodeMissing, "The symbol of %s may be any of %d that the script writes; candela reads at most %d for one request, and %d series for a script. Let it choose from fewer.", call.Builtin.Name, n, maxSymbols, maxSeries)
	}
	return names
}

// symbolsIn returns the symbols of a text such as BINANCE:BTCUSDT or "AAPL, MSFT", none if anything else is in it.
func symbolsIn(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;|\r\n\t", r) })
	if slices.ContainsFunc(list, func(s string) bool { return !isSymbol(s) }) {
		return nil
	}
	return list
}

// isSymbol reports whether a text has the form of a symbol, such as ES1!, BRK.B or NSE:M_M.
func isSymbol(text string) bool {
	prefix, ticker, found := strings.Cut(text, ":")
	if !found {
		prefix, ticker = "", text
	}
	letter := func(r rune) bool { return r >= 'A' && r <= 'Z' }
	other := func(r rune) bool { return !letter(r) && (r < '0' || r > '9') && !strings.ContainsRune("_.!&-/", r) }
	return len(text) <= 40 && found == (prefix != "") && strings.ContainsFunc(ticker, letter) && !strings.ContainsFunc(prefix+ticker, other)
}

// choice compiles a request whose symbol or timeframe changes: one request for each that it may
// be, all of which see every bar, and a statement that takes the values of the one that is wanted.
func (c *compiler) choice(q *check.Request, call *check.Call, symbols, timeframes []string, dst []*float64) stmt {
	by := chosen{symbols: symbols, timeframes: timeframes}
	if len(symbols) > 0 {
		by.symbol = c.num(call.Arg("symbol"))
	} else {
		symbols = []string{c.contextText(q, call, "symbol")}
	}
	if len(timeframes) > 1 {
		by.timeframe = c.num(call.Arg("timeframe"))
	} else {
		timeframes = []string{c.contextText(q, call, "timeframe")}
	}
	if n := len(symbols) * len(timeframes); len(c.m.requests)+n > maxSeries {
		c.m.fail(call.Where().From, CodeMissing, "The script requests more than %d series: %s may be any of %d. Let it choose from fewer.", maxSeries, call.Builtin.Name, n)
	}
	found, failures := map[series]*request{}, map[series]*Error{}
	for _, symbol := range symbols {
		for _, timeframe := range timeframes {
			s := series{symbol, timeframe}
			if r, err := c.attempt(q, call, s); err != nil {
				failures[s] = err
			} else {
				found[s] = r
			}
		}
	}
	first := series{symbols[0], timeframes[0]}
	if len(found) == 0 {
		panic(failures[first])
	}
	return c.taken(call, by, first, found, failures, dst)
}

// taken takes the values of the series that is wanted on a bar.
func (c *compiler) taken(call *check.Call, by chosen, first series, found map[series]*request, failures map[series]*Error, dst []*float64) stmt {
	blank, m := c.blankRequest(call.Type(), dst), c.m
	return func() signal {
		s := first
		if !m.reads(by.symbol, &s.symbol) || !m.reads(by.timeframe, &s.timeframe) {
			return blank()
		}
		r := found[s]
		if r == nil {
			m.failChoice(call, s, by, failures[s])
		}
		for i, p := range dst {
			*p = *r.values[i]
		}
		return next
	}
}

// reads puts the text of a value into a place; false for na. Without a value the text stays.
func (m *Machine) reads(value num, to *string) bool {
	if value == nil {
		return true
	}
	x := value()
	if x == x {
		*to = m.heap.text(x)
	}
	return x == x
}

// attempt makes the request of one series. One without bars is an error when it is wanted.
func (c *compiler) attempt(q *check.Request, call *check.Call, s series) (r *request, failure *Error) {
	defer func() {
		x := recover()
		e, ok := x.(*Error)
		if x != nil && !ok {
			panic(x)
		}
		failure = e
	}()
	symbol, smooth := c.ownSymbol(s.symbol)
	return c.seriesOf(q, call, symbol, smooth, c.m.interval(s.timeframe)), nil
}

func (m *Machine) failChoice(call *check.Call, s series, by chosen, failure *Error) {
	if failure != nil {
		panic(failure)
	}
	name, text, texts := "timeframe", s.timeframe, by.timeframes
	if by.symbol != nil && !slices.Contains(by.symbols, s.symbol) {
		name, text, texts = "symbol", s.symbol, by.symbols
	}
	m.fail(call.Where().From, CodeMissing, "The %s of %s is %q here, which the script computes. candela reads those that the script writes as constants or inputs: %s. Write %q into the script as well.", name, call.Builtin.Name, text, strings.Join(texts, ", "), text)
}

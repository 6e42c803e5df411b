package eval

import (
	"slices"
	"strings"

	"candela/lib/pine/check"
)

// maxTimeframes is how many timeframes a request may choose from.
const maxTimeframes = 16

// maxSeries is how many series a script may request in all.
const maxSeries = 64

// series names what a request with a changing timeframe may read.
type series struct {
	symbol string
	smooth bool
	texts  []string
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

// choice compiles a request whose timeframe changes: one request for each timeframe, all of
// which see every bar, and a statement that takes the values of the one that is wanted.
func (c *compiler) choice(q *check.Request, call *check.Call, s series, dst []*float64) stmt {
	arg := c.num(call.Arg("timeframe"))
	found := make(map[string]*request, len(s.texts))
	failures := map[string]*Error{}
	for _, text := range s.texts {
		if r, err := c.attempt(q, call, s, text); err != nil {
			failures[text] = err
		} else {
			found[text] = r
		}
	}
	blank := c.blankRequest(call.Type(), dst)
	return func() signal {
		x := arg()
		if x != x {
			return blank()
		}
		text := c.m.heap.text(x)
		r := found[text]
		if r == nil {
			c.m.failChoice(call, text, s.texts, failures[text])
		}
		for i, p := range dst {
			*p = *r.values[i]
		}
		return next
	}
}

// attempt makes the request of one timeframe. A timeframe without bars is an error when it is wanted.
func (c *compiler) attempt(q *check.Request, call *check.Call, s series, text string) (r *request, failure *Error) {
	defer func() {
		x := recover()
		e, ok := x.(*Error)
		if x != nil && !ok {
			panic(x)
		}
		failure = e
	}()
	return c.seriesOf(q, call, s.symbol, s.smooth, c.m.interval(text)), nil
}

func (m *Machine) failChoice(call *check.Call, text string, texts []string, failure *Error) {
	if failure != nil {
		panic(failure)
	}
	m.fail(call.Where().From, CodeMissing, "The timeframe of %s is %q here, which the script computes. candela reads those that the script writes as constants or inputs: %s. Write %q into the script as well.", call.Builtin.Name, text, strings.Join(texts, ", "), text)
}

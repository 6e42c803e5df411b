// Package scan answers which symbols of a list meet a condition now, with the values of
// charts and alerts.
package scan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/work/research/replay"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Column is a value to show of each symbol.
type Column struct {
	Name    string
	Operand alert.Operand
}

// Question is what is asked of each symbol.
type Question struct {
	Library   ta.Library
	Interval  market.Interval
	Condition *alert.Condition // nil asks for the values of every symbol
	Within    int              // closed bars, the newest among them, at which the condition may hold
	Columns   []Column

	depth  int                     // of a checked question
	longer map[market.Interval]int // of a checked question
}

// Check normalizes the condition and the columns. It returns an error that names the first
// that cannot be used.
func (q *Question) Check() error {
	if q.Condition != nil {
		if err := q.normalize(q.Condition); err != nil {
			return err
		}
	}
	for i := range q.Columns {
		c := valueOf(q.Columns[i].Operand)
		if err := q.normalize(&c); err != nil {
			return inColumn(err, q.Columns[i].Name)
		}
		q.Columns[i].Operand = c.Left
	}
	q.depth = q.reach()
	return nil
}

// inColumn says which column an error is about.
func inColumn(err error, name string) error {
	e := fault.Of(err)
	if e == nil {
		return err
	}
	named := *e
	named.Field, named.Message = "columns", "columns, "+name+": "+e.Public()
	return &named
}

func (q *Question) normalize(c *alert.Condition) error {
	a := alert.Alert{Interval: q.Interval, Condition: *c}
	if err := a.Normalize(q.Library); err != nil {
		return err
	}
	if a.Interval != q.Interval {
		return fault.Field("interval", a.Interval.String(), "the interval of the scan, "+q.Interval.String()+", or none; in all and any also a multiple of it")
	}
	*c = a.Condition
	return nil
}

// valueOf is a condition whose verdict has the value of an operand.
func valueOf(o alert.Operand) alert.Condition {
	return alert.Condition{Type: alert.Value, Left: o, Op: alert.Greater}
}

// Scripts returns the scripts that a checked question asks.
func (q *Question) Scripts() (names []string) {
	if q.Condition != nil {
		names = q.Condition.Scripts()
	}
	for _, c := range q.Columns {
		value := valueOf(c.Operand)
		names = append(names, value.Scripts()...)
	}
	return names
}

func (q *Question) replay(c alert.Condition, w replay.Where) *replay.Condition {
	return replay.New(q.Library, alert.Alert{Interval: q.Interval, Condition: c}, w)
}

// Depth returns the number of closed bars on which the answer to a checked question depends.
func (q *Question) Depth() int { return q.depth }

// Longer returns the longer intervals that a checked question needs, each with the number of bars on
// which its newest value depends.
func (q *Question) Longer() map[market.Interval]int { return q.longer }

func (q *Question) reach() int {
	depth := 2 // conditions compare with the bar before
	if q.Condition != nil {
		c := q.replay(*q.Condition, replay.Where{})
		depth, q.longer = max(depth, c.Depth()), c.Longer()
	}
	for _, c := range q.Columns {
		depth = max(depth, q.replay(valueOf(c.Operand), replay.Where{}).Depth())
	}
	return depth + q.Within - 1
}

// Row is the answer of one symbol.
type Row struct {
	Symbol string
	Time   int64 // of the newest closed bar
	Close  float64
	Meets  bool
	Ago    int       // bars since the newest bar at which the condition holds
	Values []float64 // of the columns at the newest closed bar
	// Anchored is the open time of the earliest bar at which a running sum begins, 0 for none.
	Anchored int64
	Short    bool // it has fewer bars than the indicators need: values may be rough
}

// Look evaluates the question over the closed bars of a symbol, of which there is at least
// one. An error says why a script could not.
func (q *Question) Look(bars *market.Bars, w replay.Where) (Row, error) {
	last := bars.Len() - 1
	row := Row{Time: bars.T[last], Close: bars.C[last], Meets: q.Condition == nil, Short: bars.Len() < q.Depth()}
	if q.Condition != nil {
		c := q.replay(*q.Condition, w)
		defer c.Close()
		for i := max(0, last-q.Within+1); i <= last; i++ {
			seen := bars.Slice(0, i+1)
			if c.Last(&seen).Holds {
				row.Meets, row.Ago = true, last-i
			}
			if err := c.Failed(); err != nil {
				return row, err
			}
		}
		row.anchor(c)
	}
	if !row.Meets {
		return row, nil
	}
	for _, column := range q.Columns {
		if err := q.show(&row, bars, column.Operand, w); err != nil {
			return row, err
		}
	}
	return row, nil
}

// show adds the value of an operand at the last of the bars.
func (q *Question) show(row *Row, bars *market.Bars, o alert.Operand, w replay.Where) error {
	c := q.replay(valueOf(o), w)
	defer c.Close()
	row.Values = append(row.Values, c.Last(bars).Value)
	row.anchor(c)
	return c.Failed()
}

// anchor notes where the sums of a condition begin.
func (r *Row) anchor(c *replay.Condition) {
	if at := c.Anchored(); at != 0 && (r.Anchored == 0 || at < r.Anchored) {
		r.Anchored = at
	}
}

// Rank orders rows by a column, -1 for by symbol alone. Rows without a value, or with a
// rough one, come last: they are not ranked.
func Rank(rows []Row, column int, ascending bool) {
	unranked := func(r *Row) bool { return column >= 0 && (r.Short || math.IsNaN(r.Values[column])) }
	slices.SortStableFunc(rows, func(x, y Row) int {
		if a, b := unranked(&x), unranked(&y); a != b {
			if a {
				return 1
			}
			return -1
		} else if column < 0 || a {
			return strings.Compare(x.Symbol, y.Symbol)
		}
		by := cmp.Compare(y.Values[column], x.Values[column])
		if ascending {
			by = -by
		}
		return cmp.Or(by, strings.Compare(x.Symbol, y.Symbol))
	})
}

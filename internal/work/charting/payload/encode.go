package payload

import (
	"math"
	"strconv"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/ta/calc"
)

// encoder appends compact JSON. It exists because encoding/json refuses NaN and
// needs a struct and a slice of pointers for each shape below.
type encoder struct{ b []byte }

// next writes a comma if needed.
func (e *encoder) next() {
	if n := len(e.b); n > 0 {
		switch e.b[n-1] {
		case '{', '[', ':', ',':
		default:
			e.b = append(e.b, ',')
		}
	}
}

func (e *encoder) open(bracket byte) {
	e.next()
	e.b = append(e.b, bracket)
}

func (e *encoder) close(bracket byte) { e.b = append(e.b, bracket) }

func (e *encoder) key(name string) {
	e.next()
	e.b = strictjson.AppendString(e.b, name)
	e.b = append(e.b, ':')
}

func (e *encoder) text(name, value string) {
	e.key(name)
	e.b = strictjson.AppendString(e.b, value)
}

// string writes an item of a list.
func (e *encoder) string(value string) {
	e.next()
	e.b = strictjson.AppendString(e.b, value)
}

func (e *encoder) flag(name string, value bool) {
	e.key(name)
	e.b = strconv.AppendBool(e.b, value)
}

func (e *encoder) int(name string, value int64) {
	e.key(name)
	e.b = strconv.AppendInt(e.b, value, 10)
}

func (e *encoder) null(name string) {
	e.key(name)
	e.b = append(e.b, "null"...)
}

// number writes a value like strictjson.AppendFloat, with the same digits in every
// result.
func (e *encoder) number(name string, value float64) {
	e.key(name)
	e.b = strictjson.AppendFloat(e.b, value)
}

func (e *encoder) values(name string, values []float64) {
	e.key(name)
	e.b = append(e.b, '[')
	for i, v := range values {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = strictjson.AppendFloat(e.b, v)
	}
	e.b = append(e.b, ']')
}

// list writes items as an array of objects, or nothing if there are none.
func list[T any](e *encoder, name string, items []T, write func(T)) {
	if len(items) == 0 {
		return
	}
	e.key(name)
	e.open('[')
	for _, item := range items {
		e.open('{')
		write(item)
		e.close('}')
	}
	e.close(']')
}

// listFirst writes the first items as list does, and how many there are if some are left out.
func listFirst[T any](e *encoder, name string, items []T, most int, write func(T)) {
	list(e, name, items[:min(len(items), most)], write)
	if len(items) > most {
		e.int(name+"_count", int64(len(items)))
	}
}

// time writes Unix seconds, or null for synthetic bars, which have no time.
func (e *encoder) time(name string, c *Chart, bar int) {
	if c.sample() || bar < 0 || bar >= c.Bars.Len() {
		e.null(name)
		return
	}
	e.int(name, c.Bars.T[bar])
}

func (e *encoder) date(c *Chart, bar int) {
	if c.sample() {
		e.text("date", "#"+strconv.Itoa(bar))
		return
	}
	e.text("date", time.Unix(c.Bars.T[bar], 0).UTC().Format(time.RFC3339))
}

// Number returns a number of at most 15 digits, or nothing for NaN and infinity.
func Number(x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return strictjson.AppendFloat(nil, calc.Decimal(x))
}

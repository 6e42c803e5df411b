package payload

import (
	"math"
	"strconv"
	"time"

	"candela/internal/rpc"
)

// encoder appends compact JSON. It exists because encoding/json refuses NaN,
// writes seventeen digits where eight are wanted, and needs a struct and a slice
// of pointers for each shape below.
type encoder struct{ b []byte }

// next puts a comma where one is due.
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
	e.b = rpc.AppendString(e.b, name)
	e.b = append(e.b, ':')
}

func (e *encoder) text(name, value string) {
	e.key(name)
	e.b = rpc.AppendString(e.b, value)
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

// number writes a value as it is; price columns are decimal fractions of few
// digits already, and a reader may compare them with another source.
func (e *encoder) number(name string, value float64) {
	e.key(name)
	e.b = appendNumber(e.b, value)
}

// rounded writes a computed value with the digits that mean something.
func (e *encoder) rounded(name string, value float64) {
	e.key(name)
	e.b = appendRounded(e.b, value)
}

func (e *encoder) values(name string, values []float64) {
	e.key(name)
	e.b = append(e.b, '[')
	for i, v := range values {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = appendRounded(e.b, v)
	}
	e.b = append(e.b, ']')
}

// time writes unix seconds, or null for made-up bars, which have no time.
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

func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	if size := math.Abs(v); size != 0 && (size < 1e-9 || size >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// digits is how many significant digits a series carries: more than a chart can
// show or a strategy can use, and half the bytes of a full float.
const digits = 8

// appendRounded writes v with at most digits significant digits, without an
// exponent where one can be avoided.
func appendRounded(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	if v == 0 {
		return append(b, '0') // also for -0
	}
	// d.ddddddde±xx holds the rounded digits; they are laid out again in place of
	// parsing the text back to a float.
	var scratch [32]byte
	text := strconv.AppendFloat(scratch[:0], math.Abs(v), 'e', digits-1, 64)
	exponent := 0
	for _, c := range text[digits+3:] {
		exponent = exponent*10 + int(c-'0')
	}
	if text[digits+2] == '-' {
		exponent = -exponent
	}
	if exponent < -9 || exponent > 20 {
		return strconv.AppendFloat(b, v, 'e', digits-1, 64)
	}
	if v < 0 {
		b = append(b, '-')
	}
	text[1] = text[0] // over the point
	return appendDigits(b, text[1:1+digits], exponent)
}

// appendDigits writes 0.d1d2d3... times ten to exponent+1 as a plain decimal.
func appendDigits(b, mantissa []byte, exponent int) []byte {
	end := len(mantissa)
	for end > 1 && mantissa[end-1] == '0' {
		end--
	}
	mantissa = mantissa[:end]
	if exponent < 0 {
		b = append(b, "0."...)
		for range -exponent - 1 {
			b = append(b, '0')
		}
		return append(b, mantissa...)
	}
	whole := exponent + 1
	for i := range whole {
		if i < len(mantissa) {
			b = append(b, mantissa[i])
		} else {
			b = append(b, '0')
		}
	}
	if len(mantissa) > whole {
		b = append(b, '.')
		b = append(b, mantissa[whole:]...)
	}
	return b
}

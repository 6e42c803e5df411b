package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/shopspring/decimal"

	"candela/lib/fault"
)

// Reader reads one document from front to back. Unlike encoding/json, keys are case-sensitive
// (Binance sends the open time as t and the close time as T), a value of the wrong type is an
// error, numbers must be finite, and bytes after the end are refused. It does not allocate for
// numbers and keys.
//
// The first error stays: after it every method returns zero and reads nothing,
// so that a caller checks once, with End. One goroutine only.
type Reader struct {
	data  []byte
	at    int
	depth int
	err   error
}

// maxDepth is far beyond what any venue nests, and keeps a hostile document from
// exhausting the stack.
const maxDepth = 32

// NewReader returns a reader of data, which must not change meanwhile.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// End returns the first error, or one when something follows the document.
func (j *Reader) End() error {
	if j.space(); j.err == nil && j.at < len(j.data) {
		j.wrong("the end")
	}
	return j.err
}

// Failf records an error of the caller's at the present position, unless there
// is one already.
func (j *Reader) Failf(format string, args ...any) {
	if j.err == nil {
		j.err = fmt.Errorf("byte %d: %s", j.at, fmt.Sprintf(format, args...))
	}
}

// OK reports whether there was no error so far.
func (j *Reader) OK() bool { return j.err == nil }

// Object reads an object and calls field with each key, which is valid until
// field returns. A value that field does not read is skipped.
func (j *Reader) Object(field func(key []byte)) {
	for more := j.open('{', '}', "an object"); more; more = j.next('}') {
		key := j.key()
		if j.err != nil {
			return
		}
		j.space()
		before := j.at
		field(key)
		j.skipFrom(before)
	}
}

// Array reads an array and calls item with the position of each element. An
// element that item does not read is skipped.
func (j *Reader) Array(item func(i int)) { j.elements(item) }

// Row reads an array that must have at least n elements.
func (j *Reader) Row(n int, item func(i int)) {
	if columns := j.elements(item); columns < n {
		j.Failf("a row of %d columns, want %d", columns, n)
	}
}

// elements reads an array and returns how many elements it has.
func (j *Reader) elements(item func(i int)) (n int) {
	for more := j.open('[', ']', "an array"); more; more = j.next(']') {
		j.space()
		before := j.at
		item(n)
		j.skipFrom(before)
		n++
	}
	return n
}

// open reads an opening bracket, and the closing one if that follows. It reports whether an
// element follows.
func (j *Reader) open(opening, closing byte, what string) bool {
	if !j.take(opening) {
		j.wrong(what)
		return false
	}
	if j.depth++; j.depth > maxDepth {
		j.Failf("nested more than %d deep", maxDepth)
		return false
	}
	if j.take(closing) {
		j.depth--
		return false
	}
	return j.err == nil
}

// next reads what stands behind an element: a comma or the closing bracket. It reports whether
// another element follows.
func (j *Reader) next(closing byte) bool {
	if j.take(',') {
		return true
	}
	if j.take(closing) {
		j.depth--
	} else {
		j.wrong(strconv.QuoteRune(rune(closing)) + " or a comma")
	}
	return false
}

// skipFrom skips the value that begins where the reader still is, because the caller left it.
func (j *Reader) skipFrom(before int) {
	if j.at == before {
		j.Skip()
	}
}

func (j *Reader) key() []byte {
	raw := j.str("a key")
	if !j.take(':') {
		j.wrong("a colon")
	}
	return j.unescape(raw)
}

// Text reads a string.
func (j *Reader) Text() string { return string(j.unescape(j.str("a string"))) }

// Is reads a string and reports whether it is want, without allocating.
func (j *Reader) Is(want string) bool { return string(j.unescape(j.str("a string"))) == want }

// Number reads a bare number.
func (j *Reader) Number() float64 { return j.float(j.digits("a number")) }

// Quoted reads a number that stands in a string, as venues send exact decimals.
func (j *Reader) Quoted() float64 {
	if j.space(); j.err == nil && j.at < len(j.data) && j.data[j.at] == '"' {
		text := j.data[j.at+1:]
		if f, n := plain(text); n > 0 && n < len(text) && text[n] == '"' {
			j.at += n + 2
			return f
		}
	}
	return j.float(j.quoted())
}

// Exact reads a number, bare or in a string, as it is written.
func (j *Reader) Exact() string {
	if j.space(); j.at < len(j.data) && j.data[j.at] == '"' {
		return string(j.quoted())
	}
	return string(j.digits("a number"))
}

// Int reads a whole number.
func (j *Reader) Int() int64 {
	text := j.digits("a whole number")
	if j.err != nil {
		return 0
	}
	if n, ok := whole(text); ok {
		return n
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		j.at -= len(text)
		j.wrong("a whole number")
	}
	return n
}

// whole returns the value of digits that are too few to overflow.
func whole(text []byte) (n int64, ok bool) {
	if len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(text) > 0
}

// Bool reads true or false.
func (j *Reader) Bool() bool {
	switch {
	case j.word("true"):
		return true
	case j.word("false"):
		return false
	}
	j.wrong("true or false")
	return false
}

// Null reads null when it comes next, and reports whether it did.
func (j *Reader) Null() bool { return j.word("null") }

// Raw reads any value and returns its bytes.
func (j *Reader) Raw() []byte {
	j.space()
	before := j.at
	j.Skip()
	if j.err != nil {
		return nil
	}
	return j.data[before:j.at]
}

// Skip reads any value.
func (j *Reader) Skip() {
	if j.space(); j.err != nil {
		return
	}
	if j.at == len(j.data) {
		j.wrong("a value")
		return
	}
	switch j.data[j.at] {
	case '{':
		j.Object(func([]byte) {})
	case '[':
		j.Array(func(int) {})
	case '"':
		j.unescape(j.str("a string"))
	case 't', 'f':
		j.Bool()
	case 'n':
		if !j.Null() {
			j.wrong("a value")
		}
	default:
		j.digits("a value")
	}
}

func (j *Reader) space() { j.at = skipSpace(j.data, j.at) }

// skipSpace returns where the white space at a position ends.
func skipSpace(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r') {
		at++
	}
	return at
}

// take reads c when it comes next.
func (j *Reader) take(c byte) bool {
	if j.err != nil {
		return false
	}
	j.space()
	if j.at < len(j.data) && j.data[j.at] == c {
		j.at++
		return true
	}
	return false
}

func (j *Reader) word(w string) bool {
	if j.err != nil {
		return false
	}
	j.space()
	if bytes.HasPrefix(j.data[j.at:], []byte(w)) {
		j.at += len(w)
		return true
	}
	return false
}

// wrong records that something else was expected here.
func (j *Reader) wrong(want string) {
	found := "the end"
	if j.at < len(j.data) {
		found = strconv.Quote(string(j.data[j.at:min(j.at+20, len(j.data))]))
	}
	j.Failf("want %s, found %s", want, found)
}

// str reads a string and returns what stands between its quotes, escapes and all.
func (j *Reader) str(what string) []byte {
	if !j.take('"') {
		j.wrong(what)
		return nil
	}
	for i := j.at; i < len(j.data); i++ {
		switch c := j.data[i]; {
		case c == '"':
			raw := j.data[j.at:i]
			j.at = i + 1
			return raw
		case c == '\\':
			i++ // whatever it escapes is no end
		case c < ' ':
			j.at = i
			j.wrong("no control character in a string")
			return nil
		}
	}
	j.at = len(j.data)
	j.wrong("the end of a string")
	return nil
}

// unescape returns the text of a string. Escapes are rare in what venues send,
// so the standard library reads them.
func (j *Reader) unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var text string
	if err := json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &text); err != nil {
		j.Failf("a string with a wrong escape")
	}
	return []byte(text)
}

// quoted reads a string that holds a number and nothing else.
func (j *Reader) quoted() []byte {
	text := j.str("a number in quotes")
	if n, wrong := numberLen(text); j.err == nil && (wrong != "" || n != len(text)) {
		j.Failf("want a number in quotes, found %q", clip(text))
		return nil
	}
	return text
}

// digits reads a bare number.
func (j *Reader) digits(what string) []byte {
	if j.space(); j.err != nil {
		return nil
	}
	n, wrong := numberLen(j.data[j.at:])
	if wrong != "" {
		j.wrong(what)
		return nil
	}
	j.at += n
	return j.data[j.at-n : j.at]
}

func (j *Reader) float(text []byte) float64 {
	if j.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsInf(f, 0) {
		j.Failf("%s is not a number we can hold", clip(text))
		return 0
	}
	return f
}

// plain reads a decimal without an exponent at the front of b, and returns how many bytes it has.
// n is 0 where there is none, or one with so many digits that its value may have to be rounded
// twice: strconv reads those.
func plain(b []byte) (f float64, n int) {
	// Both are exact as float64, so their quotient is rounded once, as strconv does.
	const (
		maxMantissa = 1 << 53
		maxDecimals = 15
	)
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		n++
	}
	mantissa, first, decimals := uint64(0), n, 0
	for ; n < len(b) && b[n]-'0' <= 9 && mantissa < maxMantissa; n++ {
		mantissa = mantissa*10 + uint64(b[n]-'0')
	}
	if n == first || b[first] == '0' && n > first+1 {
		return 0, 0
	}
	if n < len(b) && b[n] == '.' {
		first = n + 1
		for n = first; n < len(b) && b[n]-'0' <= 9 && mantissa < maxMantissa; n++ {
			mantissa = mantissa*10 + uint64(b[n]-'0')
		}
		if decimals = n - first; decimals == 0 {
			return 0, 0
		}
	}
	if mantissa >= maxMantissa || decimals > maxDecimals {
		return 0, 0
	}
	if f = float64(mantissa) / powers[decimals]; negative {
		f = -f
	}
	return f, n
}

// powers are the powers of ten that plain divides by.
//
//nolint:gochecknoglobals // a table, never written
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// numberLen returns how many bytes at the front of b are a number (RFC 8259 6), or how many
// could be the beginning of one and what is wrong behind them.
func numberLen(b []byte) (n int, wrong string) {
	digits := func() bool {
		from := n
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		return n > from
	}
	if n < len(b) && b[n] == '-' {
		n++
	}
	if n < len(b) && b[n] == '0' {
		n++
	} else if !digits() {
		return n, "unexpected character"
	}
	if n < len(b) && b[n] == '.' {
		if n++; !digits() {
			return n, "expected a digit after the point"
		}
	}
	if n < len(b) && (b[n] == 'e' || b[n] == 'E') {
		n++
		if n < len(b) && (b[n] == '+' || b[n] == '-') {
			n++
		}
		if !digits() {
			return n, "expected a digit in the exponent"
		}
	}
	return n, ""
}

// quoteBytes bounds how much of a document an error quotes.
const quoteBytes = 200

// clip returns the beginning of a text on one line.
func clip(text []byte) string {
	return fault.Clean(string(text[:min(len(text), 4*quoteBytes)]), quoteBytes)
}

// maxDigits bounds the digits of a decimal on either side of its point. No venue
// counts finer, and 1e400 would cost more to add up than to send.
const maxDigits = 20

// Decimal reads a number, bare or in a string, exactly as it is written.
func (j *Reader) Decimal() decimal.Decimal {
	text := j.Exact()
	if !j.OK() {
		return decimal.Decimal{}
	}
	if len(text) > 2*maxDigits {
		j.Failf("%q has too many digits", clip([]byte(text)))
		return decimal.Decimal{}
	}
	d, err := decimal.NewFromString(text)
	if err != nil || d.Exponent() > maxDigits || d.Exponent() < -maxDigits {
		j.Failf("%q is no amount", text)
		return decimal.Decimal{}
	}
	return d
}

// Amount is Decimal for what is never negative.
func (j *Reader) Amount() decimal.Decimal {
	d := j.Decimal()
	if d.IsNegative() {
		j.Failf("%s is negative", d)
		return decimal.Decimal{}
	}
	return d
}

package venue

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
)

// Form is how a venue writes values in its answers: any of these.
type Form uint8

// The parts of a Form.
const (
	Nulls  Form = 1 << iota // null is as if the member were not there
	Signed                  // amounts may be below zero
	Millis                  // times are milliseconds since 1970; else RFC 3339
)

// Members says where the members of an object go by their names: to a *string, *int64, *bool,
// *decimal.Decimal or *time.Time, or to a func() that reads the value.
type Members map[string]any

// Object reads an object. One that lacks a needed member is an error that names it; a needed member with
// several names, separated by spaces, is there when one of them is. What is not a member is skipped.
func (f Form) Object(j *strictjson.Reader, what string, members Members, needed ...string) {
	var seen uint64
	j.Object(func(key []byte) {
		to, ok := members[string(key)]
		if !ok || !f.value(j, to) {
			return
		}
		for i, names := range needed {
			if named(names, key) {
				seen |= 1 << i
			}
		}
	})
	for i, names := range needed {
		if seen&(1<<i) == 0 {
			name, _, _ := strings.Cut(names, " ")
			j.Failf("%s without %s", what, name)
		}
	}
}

// named reports whether a key is one of the names.
func named(names string, key []byte) bool {
	for name := range strings.SplitSeq(names, " ") {
		if name == string(key) {
			return true
		}
	}
	return false
}

// value reads a value, and reports whether there is one.
func (f Form) value(j *strictjson.Reader, to any) bool {
	if f&Nulls != 0 && j.Null() {
		return false
	}
	switch to := to.(type) {
	case *string:
		*to = j.Text()
	case *int64:
		*to = j.Int()
	case *bool:
		*to = j.Bool()
	case *decimal.Decimal:
		*to = f.amount(j)
	case *time.Time:
		*to = f.time(j)
	case func():
		to()
	default:
		panic(fmt.Sprintf("venue: a member is read into a %T", to))
	}
	return true
}

// time reads a time.
func (f Form) time(j *strictjson.Reader) time.Time {
	if f&Millis != 0 {
		ms := j.Int()
		if ms <= 0 {
			j.Failf("%d is no time", ms)
		}
		return time.UnixMilli(ms).UTC()
	}
	text := j.Text()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		j.Failf("want a time, found %q", text)
	}
	return at.UTC()
}

// amount reads an exact number.
func (f Form) amount(j *strictjson.Reader) decimal.Decimal {
	if f&Signed != 0 {
		return signed(j)
	}
	return j.Amount()
}

// signed reads an exact number that may be below zero. The bounds are far beyond any money: a number of a
// billion digits in few bytes would exhaust the memory of the caller that adds it up.
func signed(j *strictjson.Reader) decimal.Decimal {
	const mostDigits, mostExponent = 60, 30
	text := j.Exact()
	if j.OK() && len(text) <= mostDigits {
		if d, err := decimal.NewFromString(text); err == nil && d.Exponent() <= mostExponent && d.Exponent() >= -mostExponent {
			return d
		}
	}
	j.Failf("%.60s is not an amount we can hold", text) // keeps an earlier error
	return decimal.Decimal{}
}

// Parse reads a whole document. what names it in the error.
func Parse[T any](body []byte, what string, read func(*strictjson.Reader) T) (T, error) {
	j := strictjson.NewReader(body)
	v := read(j)
	if err := j.End(); err != nil {
		var none T
		return none, fmt.Errorf("not %s: %w", what, err)
	}
	return v, nil
}

// List returns a function that reads an array of items. what names it in the error.
func List[T any](what string, item func(*strictjson.Reader) T) func(body []byte) ([]T, error) {
	return func(body []byte) ([]T, error) {
		return Parse(body, what, func(j *strictjson.Reader) []T { return Items(j, item) })
	}
}

// Items reads an array.
func Items[T any](j *strictjson.Reader, item func(*strictjson.Reader) T) (all []T) {
	j.Array(func(int) { all = append(all, item(j)) })
	return all
}

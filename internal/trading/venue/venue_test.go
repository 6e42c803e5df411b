package venue_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
)

type row struct {
	name  string
	size  decimal.Decimal
	count int64
	maker bool
	at    time.Time
}

func read(form venue.Form, text string) (row, error) {
	return venue.Parse([]byte(text), "a row", func(j *strictjson.Reader) (r row) {
		form.Object(j, "a row", venue.Members{"name": &r.name, "n": &r.name, "size": &r.size, "count": func() { r.count = j.Int() }, "maker": &r.maker, "at": &r.at}, "name n", "size")
		return r
	})
}

// TestForm reads one object in each of the forms.
func TestForm(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1710485608839).UTC()
	for name, tc := range map[string]struct {
		form venue.Form
		text string
		want string // of the error
	}{
		"milliseconds":         {venue.Millis, `{"name":"a","size":"1.5","count":3,"maker":true,"at":1710485608839,"more":[1]}`, ""},
		"a text":               {0, `{"n":"a","size":1.5,"count":3,"maker":true,"at":"2024-03-15T06:53:28.839Z"}`, ""},
		"nulls":                {venue.Nulls, `{"n":null,"name":"a","size":"1.5","count":3,"maker":true,"at":"2024-03-15T06:53:28.839Z","more":null}`, ""},
		"a needed null":        {venue.Nulls, `{"name":null,"size":"1"}`, "a row without name"},
		"a null in the way":    {0, `{"name":null,"size":"1"}`, "not a row"},
		"nothing needed":       {0, `{"count":1}`, "a row without name"},
		"a part of it":         {0, `{"n":"a"}`, "a row without size"},
		"below zero":           {0, `{"n":"a","size":"-1"}`, "negative"},
		"no time":              {venue.Millis, `{"n":"a","size":"1","at":0}`, "is no time"},
		"another time":         {0, `{"n":"a","size":"1","at":"noon"}`, "want a time"},
		"too many digits":      {venue.Signed, `{"n":"a","size":"1e400"}`, "not an amount"},
		"another type":         {0, `{"n":1,"size":"1"}`, "not a row"},
		"another case of name": {0, `{"N":"a","size":"1"}`, "a row without name"},
	} {
		r, err := read(tc.form, tc.text)
		if tc.want == "" && (err != nil || r.name != "a" || r.size.String() != "1.5" || r.count != 3 || !r.maker || !r.at.Equal(at)) ||
			tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if r, err := read(venue.Signed, `{"n":"a","size":"-1"}`); err != nil || r.size.String() != "-1" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	words := venue.Words[order.Side]{"BUY": order.Buy, "SELL": order.Sell}
	if words["SELL"] != order.Sell || words["sell"] != 0 || words.Write(order.Buy) != "BUY" || words.Write(0) != "" {
		t.Errorf("%v", words)
	}
}

// TestPages reads 25 numbers in pages of ten, of which each begins with the end of the one before.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step  int // how far a page begins behind the last item
		count int
		err   error
	}{
		"one after the other": {1, 25, nil}, "with overlap": {-2, 25, nil}, "no end": {-9, 25, venue.ErrFullPage}, "one page": {1, 4, nil}, "full pages": {1, 20, nil}, "none": {1, 0, nil},
	} {
		var asked int
		all, err := venue.Pages(10, strconv.Itoa, func(last *int) ([]int, error) {
			asked++
			from := 0
			if last != nil {
				from = *last + tc.step
			}
			var page []int
			for n := from; n < min(from+10, tc.count); n++ {
				page = append(page, n)
			}
			return page, nil
		})
		if !errors.Is(err, tc.err) || err == nil && (len(all) != tc.count || !slices.IsSorted(all)) || asked > 5 {
			t.Errorf("%s: %v, %v after %d questions", name, all, err, asked)
		}
	}
	lost := errors.New("lost")
	if _, err := venue.Pages(1, strconv.Itoa, func(*int) ([]int, error) { return []int{1}, lost }); !errors.Is(err, lost) {
		t.Error(err)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	refuses := func(e *upstream.Error) bool { return e.Code == "no" }
	answer := func(reason upstream.Reason, status int, code string) error {
		return fault.Unreachable(&upstream.Error{Reason: reason, Status: status, Code: code}, 0, "it failed")
	}
	for name, tc := range map[string]struct{ err, want error }{
		"nothing left":           {upstream.ErrNotSent, broker.ErrNotSent},
		"a refusal":              {answer(upstream.Refused, 400, "no"), broker.ErrRejected},
		"a code that is unknown": {answer(upstream.Refused, 400, "odd"), broker.ErrUnknown},
		"a fault of its own":     {answer(upstream.Refused, 503, "no"), broker.ErrUnknown},
		"a pause":                {answer(upstream.Throttled, http.StatusTooManyRequests, ""), broker.ErrRejected},
		"no answer":              {answer(upstream.NoResponse, 0, ""), broker.ErrUnknown},
		"half an answer":         {answer(upstream.Malformed, 200, "no"), broker.ErrUnknown},
		"the caller left":        {errors.New("gone"), broker.ErrUnknown},
	} {
		if got := venue.Outcome(tc.err, refuses); !errors.Is(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRefusals_TheFirstThatFits(t *testing.T) {
	t.Parallel()
	all := venue.Refusals{
		{Codes: "1 2", Words: "too little", Code: "poor", Field: "quantity", Means: "less"},
		{Codes: "1 2", Kind: fault.Conflict, Field: "stop_price", Means: "the stop", Retryable: true},
		{Status: 403, Bare: true, Means: "the door"},
	}
	for name, tc := range map[string]struct {
		e    upstream.Error
		want string
	}{
		"words and a code": {upstream.Error{Code: "2", Message: "Too Little of it"}, "poor quantity less"},
		"a code":           {upstream.Error{Code: "1", Message: "no"}, "venue_refused stop_loss the stop"},
		"a status":         {upstream.Error{Status: 403}, "venue_refused  the door"},
		"not bare":         {upstream.Error{Status: 403, Code: "9"}, "venue_refused  "},
		"half a code":      {upstream.Error{Code: "12"}, "venue_refused  "},
	} {
		f := &fault.Error{Kind: fault.Invalid, Code: "venue_refused"}
		known := all.Explain(f, &tc.e, order.Spec{Role: order.StopLoss})
		if got := f.Code + " " + f.Field + " " + f.Message; got != tc.want || known != (f.Message != "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"127.0.0.1": true, "localhost": true, "venue.test": true, "TEST.example.com.": true, "a.demo.example.com": true, "demo.example.com": false,
		"example.com": false, "test.example.com.evil.com": false, "": false,
	} {
		if got := venue.Harmless(host, "test.example.com", "*.demo.example.com"); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

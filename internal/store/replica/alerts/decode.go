package alerts

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/lib/market"
)

// A replica reads every alert when it starts, so records are read without reflection. readRecord
// reads the form that encode writes; whatever it does not expect is left to encoding/json.

// decodeRecord decodes the message of an alert.
func decodeRecord(data []byte) (r alertRecord, err error) {
	if r, ok := readRecord(data); ok {
		return r, nil
	}
	err = json.Unmarshal(data, &r)
	return r, err
}

// briefReader decodes the state and the alert of records, which is all that an index needs. One
// goroutine uses it.
type briefReader struct {
	symbols map[string]market.Symbol // by text: many alerts have the same
}

// maxSymbols bounds the symbols that a briefReader knows.
const maxSymbols = 20_000

func newBriefReader() *briefReader { return &briefReader{symbols: make(map[string]market.Symbol)} }

// decode is decodeRecord without who changed the alert and when, and without the notification.
func (b *briefReader) decode(data []byte) (alertRecord, error) {
	if r, ok := (&recordScanner{rest: data, ok: true, symbols: b.symbols, brief: true}).record(); ok {
		return r, nil
	}
	return decodeRecord(data)
}

func readRecord(data []byte) (alertRecord, bool) {
	return (&recordScanner{rest: data, ok: true}).record()
}

func (s *recordScanner) record() (r alertRecord, ok bool) {
	s.object(func(key []byte) {
		if s.brief && string(key) != "state" && string(key) != "alert" {
			s.skipped()
			return
		}
		switch string(key) {
		case "state":
			r.State = s.text()
		case "alert":
			s.alert(&r.Alert)
		case "set":
			s.info(&r.Set)
		case "end":
			s.info(&r.End)
		case "fire":
			s.info(&r.Fire)
		case "data":
			r.Data = s.raw()
		default:
			s.ok = false
		}
	})
	return r, s.ok && len(s.rest) == 0
}

// recordScanner reads JSON of a known form. ok is false after anything else.
type recordScanner struct {
	rest    []byte
	ok      bool
	symbols map[string]market.Symbol // those that are known; nil for none
	brief   bool                     // only the state and the alert are read
}

func (s *recordScanner) take(c byte) bool {
	if !s.ok || len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object reads an object and calls field before each value, which field must read.
func (s *recordScanner) object(field func(key []byte)) {
	if !s.take('{') {
		s.ok = false
		return
	}
	for !s.take('}') {
		key := s.quoted()
		if !s.take(':') {
			s.ok = false
		}
		if !s.ok {
			return
		}
		if field(key); !s.ok {
			return
		}
		if !s.take(',') && (len(s.rest) == 0 || s.rest[0] != '}') {
			s.ok = false
			return
		}
	}
}

func (s *recordScanner) text() string { return string(s.quoted()) }

// quoted reads a string of printable ASCII without escapes. It aliases the record.
func (s *recordScanner) quoted() []byte {
	if !s.take('"') {
		s.ok = false
		return nil
	}
	for i, c := range s.rest {
		switch {
		case c == '"':
			text := s.rest[:i]
			s.rest = s.rest[i+1:]
			return text
		case c == '\\' || c < ' ' || c > '~':
			s.ok = false
			return nil
		}
	}
	s.ok = false
	return nil
}

// raw reads an object and copies it.
func (s *recordScanner) raw() json.RawMessage { return bytes.Clone(s.skipped()) }

// skipped reads an object as it is written. It aliases the record.
func (s *recordScanner) skipped() []byte {
	depth, quoted := 0, false
	for i := 0; s.ok && i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth == 0 {
			if s.rest[0] != '{' {
				break
			}
			found := s.rest[:i+1]
			s.rest = s.rest[i+1:]
			return found
		}
	}
	s.ok = false
	return nil
}

func (s *recordScanner) time() time.Time {
	at, err := time.Parse(time.RFC3339, s.text())
	s.ok = s.ok && err == nil
	return at
}

// unmarshal reads a text into a value.
func (s *recordScanner) unmarshal(v interface{ UnmarshalText(text []byte) error }) {
	if text := s.quoted(); s.ok {
		s.ok = v.UnmarshalText(text) == nil
	}
}

// symbol reads a symbol, or finds it among the known ones.
func (s *recordScanner) symbol() (one market.Symbol) {
	text := s.quoted()
	if one, known := s.symbols[string(text)]; known || !s.ok {
		return one
	}
	s.ok = one.UnmarshalText(text) == nil
	if s.symbols != nil && len(s.symbols) < maxSymbols {
		s.symbols[string(text)] = one
	}
	return one
}

func (s *recordScanner) info(c *conn.ChangeInfo) {
	s.object(func(key []byte) {
		switch string(key) {
		case "name":
			c.ID = s.text()
		case "at":
			c.At = s.time()
		case "actor":
			c.Actor = s.text()
		case "client":
			c.Client = s.text()
		default:
			s.ok = false
		}
	})
}

// alert reads a plain alert. One with a rule is left to encoding/json.
func (s *recordScanner) alert(a *alertData) {
	s.object(func(key []byte) {
		switch string(key) {
		case "id":
			a.ID = s.text()
		case "owner":
			a.Owner = principal.Owner(s.text())
		case "symbol":
			a.Symbol = s.symbol()
		case "instrument":
			a.Instrument = s.symbol()
		case "interval":
			s.unmarshal(&a.Interval)
		case "type":
			a.Type = s.text()
		case "threshold":
			a.Threshold = s.decimal()
		case "indicator":
			a.Indicator = s.text()
		case "signal":
			a.Signal = s.text()
		case "created":
			a.Created = s.time()
		case "expires":
			a.Expires = s.time()
		case "since":
			a.Since = s.time()
		case "note":
			a.Note = s.text()
		default:
			s.ok = false
		}
	})
}

func (s *recordScanner) decimal() decimal.Decimal {
	text := s.text()
	if !s.ok {
		return decimal.Decimal{}
	}
	d, err := decimal.NewFromString(text)
	s.ok = err == nil
	return d
}

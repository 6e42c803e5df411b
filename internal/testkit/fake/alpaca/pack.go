package alpaca

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// The official client speaks MessagePack. This is as much of it as the stream
// needs: https://github.com/msgpack/msgpack/blob/master/spec.md.

// pack appends a value.
func pack(b []byte, v any) []byte {
	switch v := v.(type) {
	case []map[string]any:
		b = header(b, 0x90, 0xdc, len(v))
		for _, m := range v {
			b = pack(b, m)
		}
		return b
	case map[string]any:
		b = header(b, 0x80, 0xde, len(v))
		// The client looks for the type first.
		for _, key := range slices.SortedFunc(maps.Keys(v), typeFirst) {
			b = pack(pack(b, key), v[key])
		}
		return b
	case []string:
		b = header(b, 0x90, 0xdc, len(v))
		for _, s := range v {
			b = pack(b, s)
		}
		return b
	case string:
		b = append(b, 0xda)
		b = binary.BigEndian.AppendUint16(b, uint16(len(v))) //nolint:gosec // symbols and short texts
		return append(b, v...)
	case int:
		return pack(b, uint64(v)) //nolint:gosec // codes and counts
	case uint64:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 0xcb), math.Float64bits(v))
	case time.Time:
		// The timestamp extension of 64 bits: nanoseconds above, seconds below.
		bits := uint64(v.Nanosecond())<<34 | uint64(v.Unix()) //nolint:gosec // after 1970
		return binary.BigEndian.AppendUint64(append(b, 0xd7, 0xff), bits)
	}
	panic(fmt.Sprintf("fake alpaca: cannot pack %T", v))
}

func typeFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "T" || b != "T" && a < b:
		return -1
	}
	return 1
}

// header appends the length of a list or map.
func header(b []byte, short, long byte, n int) []byte {
	if n < 16 {
		return append(b, short|byte(n)) //nolint:gosec // below 16
	}
	return binary.BigEndian.AppendUint16(append(b, long), uint16(n)) //nolint:gosec // frames are small
}

var errPacked = errors.New("not the MessagePack of a command")

// unpackCommand reads a map of strings and lists of strings.
func unpackCommand(data []byte, o *command) error {
	u := unpacker{data: data}
	for range u.length(0x80, 0x8f, 0xde) {
		switch key := u.text(); key {
		case "action":
			o.Action = u.text()
		case "key":
			o.Key = u.text()
		case "secret":
			o.Secret = u.text()
		default:
			list := u.list()
			switch key {
			case "bars":
				o.Bars = list
			case "updatedBars":
				o.UpdatedBars = list
			case "dailyBars":
				o.DailyBars = list
			case "trades":
				o.Trades = list
			case "quotes":
				o.Quotes = list
			}
		}
	}
	if u.bad {
		return errPacked
	}
	return nil
}

// unpacker reads front to back; after something unexpected it reads nothing.
type unpacker struct {
	data []byte
	bad  bool
}

func (u *unpacker) take(n int) []byte {
	if u.bad || n > len(u.data) {
		u.bad = true
		return nil
	}
	taken := u.data[:n]
	u.data = u.data[n:]
	return taken
}

func (u *unpacker) byte() byte {
	if b := u.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (u *unpacker) length(short, last, long byte) int {
	switch c := u.byte(); {
	case c >= short && c <= last:
		return int(c - short)
	case c == long:
		if b := u.take(2); b != nil {
			return int(binary.BigEndian.Uint16(b))
		}
	case c == 0xc0: // nil
		return 0
	}
	u.bad = true
	return 0
}

func (u *unpacker) text() string {
	if len(u.data) > 0 && u.data[0] == 0xd9 {
		u.take(1)
		return string(u.take(int(u.byte())))
	}
	return string(u.take(u.length(0xa0, 0xbf, 0xda)))
}

func (u *unpacker) list() []string {
	var list []string
	for range u.length(0x90, 0x9f, 0xdc) {
		if s := u.text(); !u.bad {
			list = append(list, s)
		}
	}
	return list
}

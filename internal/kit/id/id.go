// Package id makes the ids of alerts and orders.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// New returns a UUIDv7 (RFC 9562 5.7) of the moment: 36 letters that sort by the
// millisecond they were made in and cannot be guessed from each other. It is safe
// for concurrent use.
func New(now time.Time) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(raw[6:]) // never fails: the runtime ends the program instead
	raw[6] = raw[6]&0x0f | 0x70
	raw[8] = raw[8]&0x3f | 0x80
	text := make([]byte, 0, 36)
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			text = append(text, '-')
		}
		from := [...]int{0, 4, 6, 8, 10}[i]
		text = hex.AppendEncode(text, raw[from:from+n])
	}
	return string(text)
}

// Time returns when an id was made, to the millisecond, and false for a text that is none.
func Time(text string) (time.Time, bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[14] != '7' {
		return time.Time{}, false
	}
	var raw [6]byte
	if _, err := hex.Decode(raw[:], []byte(text[:8]+text[9:13])); err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(raw[0])<<40 | int64(binary.BigEndian.Uint32(raw[1:5]))<<8 | int64(raw[5])).UTC(), true
}

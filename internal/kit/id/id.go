// Package id makes the ids of alerts and orders.
package id

import (
	"crypto/rand"
	"crypto/sha256"
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
	return format(raw, 0x70)
}

// Derived returns a UUIDv8 (RFC 9562 5.8) of texts: the same texts have the same id, others have
// another one.
func Derived(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return format([16]byte(hash.Sum(nil)), 0x80)
}

// Valid reports whether a text has the form of an id of New or Derived.
func Valid(text string) bool {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' || text[14] != '7' && text[14] != '8' {
		return false
	}
	raw, err := hex.DecodeString(text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:])
	return err == nil && raw[8]&0xc0 == 0x80
}

// format writes a UUID of a version, which is in the high bits of a byte.
func format(raw [16]byte, version byte) string {
	raw[6] = raw[6]&0x0f | version
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

// Time returns when New made an id, to the millisecond, and false for a text that is none of its.
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

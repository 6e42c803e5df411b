package webfont

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

const (
	headerSize = 44
	entrySize  = 20
)

// pack writes tables as a WOFF file, version 1: each packed on its own.
func pack(tables map[string][]byte) ([]byte, error) {
	names := slices.Sorted(maps.Keys(tables))
	binary.BigEndian.PutUint32(tables["head"][8:], 0)
	whole := uint32(0) // sum of the font as it is unpacked
	plain := 12 + 16*len(names)
	for _, name := range names {
		whole += sum(tables[name])
		plain += padded(len(tables[name]))
	}
	whole += sum(directory(names, tables))
	binary.BigEndian.PutUint32(tables["head"][8:], 0xb1b0afba-whole)

	var entries, body []byte
	at := headerSize + entrySize*len(names)
	for _, name := range names {
		data, err := deflated(tables[name])
		if err != nil {
			return nil, err
		}
		check := sum(tables[name])
		if name == "head" {
			check -= 0xb1b0afba - whole // its sum leaves out the field with that of the font
		}
		entries = append(entries, name...)
		for _, n := range []int{at + len(body), len(data), len(tables[name])} {
			entries = binary.BigEndian.AppendUint32(entries, uint32(n)) //nolint:gosec // some KB
		}
		entries = binary.BigEndian.AppendUint32(entries, check)
		body = append(body, data...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	return slices.Concat(header(at+len(body), len(names), plain), entries, body), nil
}

func header(size, tables, plain int) []byte {
	out := append([]byte("wOFF"), 0, 1, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(size)) //nolint:gosec // some KB
	out = words(out, word(tables), 0)
	out = binary.BigEndian.AppendUint32(out, uint32(plain)) //nolint:gosec // some KB
	out = words(out, 1, 0)
	return append(out, make([]byte, headerSize-len(out))...)
}

// directory returns the beginning of the font as it is unpacked, which its sum covers.
func directory(names []string, tables map[string][]byte) []byte {
	search, selector, shift := searching(len(names), 16)
	out := words([]byte{0, 1, 0, 0}, word(len(names)), search, selector, shift)
	at := 12 + 16*len(names)
	for _, name := range names {
		out = append(out, name...)
		for _, n := range []uint32{sum(tables[name]), uint32(at), uint32(len(tables[name]))} { //nolint:gosec // some KB
			out = binary.BigEndian.AppendUint32(out, n)
		}
		at += padded(len(tables[name]))
	}
	return out
}

// deflated packs a table, unless that makes it longer.
func deflated(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	_, _ = w.Write(plain) // a buffer does not fail
	_ = w.Close()
	if b.Len() >= len(plain) {
		return plain, nil
	}
	return b.Bytes(), nil
}

// sum adds the words of a table, the last filled up with zeros.
func sum(table []byte) uint32 {
	total := uint32(0)
	for len(table) >= 4 {
		total += binary.BigEndian.Uint32(table)
		table = table[4:]
	}
	var rest [4]byte
	copy(rest[:], table)
	return total + binary.BigEndian.Uint32(rest[:])
}

func padded(n int) int { return (n + 3) &^ 3 }

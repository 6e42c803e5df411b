package webfont_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"testing"

	"eliasnaur.com/font/roboto/robotoregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"candela/lib/chart/webfont"
)

// unpack returns the font of a WOFF file.
func unpack(t *testing.T, woff []byte) *sfnt.Font {
	t.Helper()
	be := binary.BigEndian
	if string(woff[:4]) != "wOFF" || int(be.Uint32(woff[8:])) != len(woff) {
		t.Fatalf("a file of %d bytes begins with %q and says %d", len(woff), woff[:4], be.Uint32(woff[8:]))
	}
	n := int(be.Uint16(woff[12:]))
	dir := append([]byte{0, 1, 0, 0}, byte(n>>8), byte(n), 0, 0, 0, 0, 0, 0)
	var body []byte
	for i := range n {
		entry := woff[44+20*i:]
		data := woff[be.Uint32(entry[4:]):][:be.Uint32(entry[8:])]
		if plain := be.Uint32(entry[12:]); plain != uint32(len(data)) {
			r, err := zlib.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(r); err != nil || uint32(len(data)) != plain {
				t.Fatalf("table %s has %d bytes, want %d: %v", entry[:4], len(data), plain, err)
			}
		}
		dir = append(dir, entry[:4]...)
		dir = append(dir, entry[16:20]...)
		dir = be.AppendUint32(dir, uint32(12+16*n+len(body)))
		dir = be.AppendUint32(dir, uint32(len(data)))
		body = append(body, data...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	if whole := 12 + 16*n + len(body); int(be.Uint32(woff[16:])) != whole {
		t.Errorf("the header says %d bytes unpacked, there are %d", be.Uint32(woff[16:]), whole)
	}
	f, err := sfnt.Parse(append(dir, body...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Every character of the file has the outline, the advance and the kerning of the whole font.
func TestWOFF_DrawsAsTheWholeFont(t *testing.T) {
	woff, err := webfont.WOFF(webfont.Regular)
	if err != nil {
		t.Fatal(err)
	}
	got := unpack(t, woff)
	want, err := sfnt.Parse(robotoregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	var b sfnt.Buffer
	ppem := fixed.Int26_6(want.UnitsPerEm()) << 6
	glyph := func(f *sfnt.Font, r rune) sfnt.GlyphIndex {
		id, err := f.GlyphIndex(&b, r)
		if err != nil || id == 0 {
			t.Fatalf("no glyph of %q: %v", r, err)
		}
		return id
	}
	for _, r := range "AVTo09 .,:%+−–—“”…·×°±éßŁőžµ€≤≥≈" {
		g, w := glyph(got, r), glyph(want, r)
		ga, _ := got.GlyphAdvance(&b, g, ppem, 0)
		wa, _ := want.GlyphAdvance(&b, w, ppem, 0)
		gs, gerr := got.LoadGlyph(&b, g, ppem, nil)
		gs = append(sfnt.Segments(nil), gs...)
		ws, werr := want.LoadGlyph(&b, w, ppem, nil)
		if ga != wa || gerr != nil || werr != nil || len(gs) != len(ws) {
			t.Fatalf("%q: advance %v and %d segments (%v), want %v and %d (%v)", r, ga, len(gs), gerr, wa, len(ws), werr)
		}
		for i := range gs {
			if gs[i] != ws[i] {
				t.Fatalf("%q: segment %d is %v, want %v", r, i, gs[i], ws[i])
			}
		}
	}
	gk, err := got.Kern(&b, glyph(got, 'T'), glyph(got, 'o'), ppem, 0)
	wk, _ := want.Kern(&b, glyph(want, 'T'), glyph(want, 'o'), ppem, 0)
	if err != nil || gk != wk || gk == 0 {
		t.Errorf("T and o are %v apart (%v), want %v", gk, err, wk)
	}
}

// Two weights are a small part of what a page may weigh.
func TestWOFF_IsSmall(t *testing.T) {
	for _, w := range []webfont.Weight{webfont.Regular, webfont.Medium} {
		woff, err := webfont.WOFF(w)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("weight %d: %d bytes", w, len(woff))
		if len(woff) > 30_000 {
			t.Errorf("weight %d has %d bytes, want 30,000 at most", w, len(woff))
		}
		unpack(t, woff)
	}
}

package deflate

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// picture is the rows of a PNG as they were compressed.
type picture struct {
	name          string
	rows          []byte
	stride, pixel int
}

// goldens returns the accepted pictures of charts, the frames this package is for.
func goldens(tb testing.TB) []picture {
	tb.Helper()
	files, err := filepath.Glob("../testdata/golden/*.png")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no pictures: %v", err)
	}
	out := make([]picture, len(files))
	for i, file := range files {
		out[i] = golden(tb, file)
	}
	return out
}

func golden(tb testing.TB, file string) picture {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	p := picture{name: filepath.Base(file), pixel: 1}
	size := img.Bounds()
	indexed, ok := img.(*image.Paletted)
	if !ok {
		p.pixel = 3
	}
	p.stride = size.Dx()*p.pixel + 1
	for y := range size.Dy() {
		p.rows = append(p.rows, 0) // no filter
		if ok {
			p.rows = append(p.rows, indexed.Pix[y*indexed.Stride:][:size.Dx()]...)
			continue
		}
		for x := range size.Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			p.rows = append(p.rows, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return p
}

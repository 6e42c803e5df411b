package raster

import (
	"bytes"
	"image/png"
	"testing"
)

func TestFrame_RoundTripsThroughImagePNG(t *testing.T) {
	t.Parallel()
	s := NewStock()
	f, err := s.Frame(7, 3, Hex(0x131722))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	f.Rect(1, 1, 3, 2, Hex(0x26A69A))
	b, err := f.EncodePNG(nil)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if got := img.Bounds().Size(); got.X != 7 || got.Y != 3 {
		t.Fatalf("size %v", got)
	}
	r, g, bl, _ := img.At(2, 1).RGBA()
	if r>>8 != 0x26 || g>>8 != 0xA6 || bl>>8 != 0x9A {
		t.Fatalf("pixel (2, 1) is %02x%02x%02x", r>>8, g>>8, bl>>8)
	}
}

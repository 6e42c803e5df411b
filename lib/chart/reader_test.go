package chart

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"pgregory.net/rapid"

	"candela/lib/chart/raster"
)

// TestReader_EveryTextCanBeRead draws 100 random charts as a reader sees them. Each text
// is drawn again alone; the picture must have its ink wherever the glyphs cover a whole
// pixel, and a ground of enough contrast wherever they cover nothing.
func TestReader_EveryTextCanBeRead(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	rapid.Check(t, func(t *rapid.T) {
		spec := anyChart(t)
		spec.Width, spec.Height = 400+spec.Width%800, 300+spec.Height%500
		file, err := r.PNG(spec)
		if err != nil {
			t.Fatal(err)
		}
		p := realLayout(t, r, spec)
		texts := append([]Label(nil), p.scene.Labels...)
		for i := range p.scene.Pills {
			texts = append(texts, p.scene.Pills[i].Label, p.scene.Pills[i].Name)
		}
		faces, width, height := p.faces, p.scene.Width, p.scene.Height
		r.release(p)
		alone, err := r.stock.Render(width, height, raster.Hex(0), func(f *raster.Frame) {
			for _, l := range texts {
				f.Text(faces[l.Face], l.X, l.Baseline, l.Text, raster.Hex(0xFFFFFF))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer alone.Release()
		mask, err := alone.EncodePNG(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, cover := picture(t, file), picture(t, mask)
		for i := range texts {
			readText(t, got, cover, &texts[i])
		}
	})
}

func picture(t *rapid.T, file []byte) image.Image {
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// readText compares the pixels of one text with its ink.
func readText(t *rapid.T, got, cover image.Image, l *Label) {
	if l.Text == "" {
		return
	}
	box := labelBox(l, 1)
	inked, lost, ground, poor := 0, 0, 0, 0
	for y := box.Y0; y < box.Y1; y++ {
		for x := box.X0; x < box.X1; x++ {
			r, g, b, _ := got.At(x, y).RGBA()
			c := raster.Color{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 255}
			switch level, _, _, _ := cover.At(x, y).RGBA(); level >> 8 {
			case 255:
				inked++
				if far := max(differ(c.R, l.Color.R), differ(c.G, l.Color.G), differ(c.B, l.Color.B)); far > 40 {
					lost++
				}
			case 0:
				ground++
				if contrast(c, l.Color) < minContrast {
					poor++
				}
			}
		}
	}
	if lost > 0 {
		t.Fatalf("%q at %+v has lost %d of %d pixels", l.Text, box, lost, inked)
	}
	if poor*50 > ground {
		t.Fatalf("%q at %+v stands on %d of %d pixels without contrast", l.Text, box, poor, ground)
	}
}

func differ(a, b uint8) int { return abs(int(a) - int(b)) }

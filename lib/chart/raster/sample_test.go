package raster

import "math"

// Pictures of the single primitives, for the golden images. Their positions,
// too, must not depend on the architecture: no math.Sin, no fused products.

// wave is a smooth curve of period 2 pi between -size and size, around middle.
func wave(middle, size, x float64) float64 {
	half := x / math.Pi
	whole := math.Floor(half)
	u := half - whole
	v := float64(4*size) * float64(u*(1-u))
	if math.Mod(whole, 2) != 0 {
		v = -v
	}
	return middle + v
}

func drawLines(f *Frame) {
	yellow, blue, red := Hex(0xF2C94C), Hex(0x4C8DFF), Hex(0xEF5350)
	// A fan: every slope at the three widths in use.
	for i := range 24 {
		angle := float64(i) * math.Pi / 24
		dx, dy := wave(0, 60, angle+math.Pi/2), wave(0, 60, angle)
		f.Segment(70-dx, 70-dy, 70+dx, 70+dy, 1.6, yellow, Dash{})
	}
	xs, ys := make([]float64, 23), make([]float64, 23)
	for i := range xs {
		xs[i] = 150 + float64(i*7)
		ys[i] = wave(40, 30, float64(float64(i)*0.9))
	}
	ys[8], ys[10], ys[16] = math.NaN(), math.NaN(), math.Inf(1) // 9 stands alone
	f.Polyline(xs, ys, 1.6, blue, Dash{})
	for i := range ys {
		ys[i] = 100 + float64(i%2)*25
	}
	f.Polyline(xs, ys, 3, red, Dash{})
	for i := range ys {
		ys[i] = wave(150, 10, float64(float64(i)*0.5))
	}
	f.Polyline(xs, ys, 1.1, blue.Alpha(0.75), Dash{})
	for i := range ys {
		ys[i] += 25
	}
	f.Polyline(xs, ys, 1.8, red, Dash{6, 4})
	f.Segment(10, 150, 140, 190, 1.8, red, Dash{6, 4})
	f.Segment(140, 150, 10, 190, 1.8, Hex(0x26A69A), Dash{6, 4})
	f.Segment(75, 150, 75, 200, 1.8, yellow, Dash{6, 4})
	f.HLine(10, 310, 205, 1, Hex(0x26A69A), Dash{2, 3})
	f.HLine(10, 310, 212, 1, Hex(0xB2B5BE).Alpha(0.8), Dash{4, 4})
	f.HLine(10, 310, 220, 2, Hex(0x2E3442), Dash{})
	for i := range 10 {
		f.VLine(12+30*i, 225, 238, 1, blue, Dash{float64(i), 2})
	}
}

func drawAreas(f *Frame) {
	grid := Hex(0x1E2330)
	for i := range 8 {
		f.VLine(20+40*i, 0, 200, 1, grid, Dash{})
		f.HLine(0, 320, 12+25*i, 1, grid, Dash{})
	}
	xs, a, b := make([]float64, 50), make([]float64, 50), make([]float64, 50)
	for i := range xs {
		xs[i] = 8.3 + float64(float64(i)*6.1)
		a[i] = wave(50, 30, float64(float64(i)*0.3))
		b[i] = wave(50, 35, float64(float64(i)*0.23)+1.5)
	}
	a[20] = math.NaN()
	f.Area(xs, a, b, Hex(0x4C8DFF).Alpha(0.3))
	for i := range a {
		a[i], b[i] = wave(145, 30, float64(float64(i)*0.3)), wave(145, 35, float64(float64(i)*0.23)+1.5)
	}
	f.AreaSplit(xs, a, b, Hex(0x26A69A).Alpha(0.4), Hex(0xEF5350).Alpha(0.4))
	f.Polyline(xs, a, 1.1, Hex(0x26A69A), Dash{})
	f.Polyline(xs, b, 1.1, Hex(0xEF5350), Dash{})
}

func drawShapes(f *Frame) {
	bg, up, down := Hex(0x131722), Hex(0x26A69A), Hex(0xEF5350)
	for i := range 8 {
		x := 20 + float64(i)*38 + float64(i)/8
		f.Triangle(x-5.5, 20, x+5.5, 20, x, 13, up)
		f.Triangle(x-5.5, 28, x+5.5, 28, x, 35, down)
		f.Circle(x, 50, 4.5, bg)
		f.Circle(x, 50, 1+float64(float64(i)*0.6), down)
		f.RoundRect(x-15, 64, x+15, 82, float64(i)*1.3, Hex(0xC77DFF))
		f.RoundRect(x-15, 90+float64(i)/8, x+15, 108, 2.5, up.Alpha(0.5))
	}
}

func drawTexts(f *Frame, s *Stock) {
	text := Hex(0xB2B5BE)
	all := "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLM"
	rest := "NOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
	f.Text(s.Face(Regular, 9), 10, 20, all, text)
	f.Text(s.Face(Regular, 9), 10, 40, rest, text)
	f.Text(s.Face(Medium, 9), 10, 60, all, text)
	f.Text(s.Face(Medium, 9), 10, 80, rest, text)
	f.Text(s.Face(Regular, 9), 10, 100, "\u22122,000 \u00b11.5% \u2013 \u00b7 \u2026 \u00d7 \u2264 \u2265 \u2248 \u03c3 \u0394 \u20ac unknown: \u2603 \u4e2d AV To 11:11", text)
	for i := range 8 {
		f.Text(s.Face(Medium, 9), 10+float64(i)*68.125, 125, "60,004.25", Hex(0x26A69A))
	}
	f.Text(s.Face(Medium, 12), 10, 150, "BTCUSDT 4h", Hex(0xE6E8EE))
	f.Text(s.Face(Medium, 24), 10, 190, "BTCUSDT 4h", Hex(0xE6E8EE))
	f.Text(s.Face(Regular, 18), 10, 230, "O 59,550.64 H 60,213.52 +0.74%", text)
	f.Text(s.Face(Medium, 36), 10, 285, "BTCUSDT 4h", Hex(0xE6E8EE))
	f.Text(s.Face(Regular, 27), 330, 285, "59,550.64", text)
	f.Text(s.Face(Regular, 5), 10, 310, "smallest size", text)
}

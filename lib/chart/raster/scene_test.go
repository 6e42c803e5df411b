package raster

import (
	"math"
	"strconv"
)

// scene is a chart-like picture with everything package chart draws, from
// numbers made up here: panes, grid, candles, lines, band, texts, pills. The
// drawing makes the same calls in both colour modes.
type scene struct {
	stock *Stock
	w, h  int
	bars  int
	dark  bool

	xs                     []float64
	open, high, low, close []float64
	volume                 []float64
	emas                   [4][]float64
	upper, lower           []float64
	rsi, macd, signal      []float64
}

// newScene makes up the series with an integer generator, so that the picture
// does not depend on anyone's library.
func newScene(stock *Stock, w, h, bars int) *scene {
	s := &scene{stock: stock, w: w, h: h, bars: bars, dark: true}
	state := uint64(12345)
	random := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>40)/(1<<24) - 0.5
	}
	plot := float64(w - 80)
	price := float64(h) * 0.3
	drift := 0.0
	spacing := plot / float64(bars+4)
	if whole := math.Floor(spacing); whole*float64(bars+4) >= 0.86*plot {
		spacing = whole
	}
	emaOf := func(prev []float64, v, k float64) []float64 {
		if len(prev) == 0 {
			return append(prev, v)
		}
		last := prev[len(prev)-1]
		return append(prev, last+float64(k*(v-last)))
	}
	var fast, slow []float64
	for i := range bars {
		drift = float64(drift*0.9) + float64(random()*4)
		o := price
		price = min(max(price+drift+float64(random()*8), float64(h)*0.08), float64(h)*0.5)
		s.xs = append(s.xs, float64(float64(i)*spacing)+20.5)
		s.open, s.close = append(s.open, o), append(s.close, price)
		s.high = append(s.high, min(o, price)-math.Abs(float64(random()*12)))
		s.low = append(s.low, max(o, price)+math.Abs(float64(random()*12)))
		s.volume = append(s.volume, 20+math.Abs(float64(random()*120)))
		for k, n := range [4]float64{8, 21, 50, 200} {
			s.emas[k] = emaOf(s.emas[k], price, 2/(n+1))
		}
		s.upper, s.lower = append(s.upper, s.emas[1][i]-30-float64(random()*6)), append(s.lower, s.emas[1][i]+30+float64(random()*6))
		fast, slow = emaOf(fast, price, 2/13.0), emaOf(slow, price, 2/27.0)
		s.macd = append(s.macd, float64(float64(h)*0.9)+float64((fast[i]-slow[i])*1.5))
		s.signal = emaOf(s.signal, s.macd[i], 0.2)
		s.rsi = append(s.rsi, float64(float64(h)*0.7)+float64(drift*3)+float64(random()*10))
	}
	return s
}

func (s *scene) palette() (bg, grid, border, text, strong, up, down Color, lines [5]Color) {
	if s.dark {
		return Hex(0x131722), Hex(0x1E2330), Hex(0x2E3442), Hex(0xB2B5BE), Hex(0xE6E8EE), Hex(0x26A69A), Hex(0xEF5350),
			[5]Color{Hex(0xF2C94C), Hex(0xFF8F3F), Hex(0x4C8DFF), Hex(0xC77DFF), Hex(0x9575FF)}
	}
	return Hex(0xFFFFFF), Hex(0xF0F2F6), Hex(0xD9DDE5), Hex(0x434651), Hex(0x131722), Hex(0x089981), Hex(0xF23645),
		[5]Color{Hex(0xD9A400), Hex(0xF57C00), Hex(0x2962FF), Hex(0x9C27B0), Hex(0x7E57C2)}
}

func (s *scene) background() Color {
	bg, _, _, _, _, _, _, _ := s.palette()
	return bg
}

func (s *scene) draw(f *Frame) {
	bg, grid, border, text, strong, up, down, lines := s.palette()
	f.Reserve(bg, grid, border, text, strong, up, down)
	f.Reserve(lines[:]...)
	f.ReserveOver([]Color{up.Alpha(0.34), down.Alpha(0.34), lines[2].Alpha(0.07), bg.Alpha(0.75)}, bg, grid)
	f.Ramp(text, bg)
	f.Ramp(strong, bg)
	right := s.w - 80
	for x := 60; x < right; x += 96 {
		f.VLine(x, 0, s.h-30, 1, grid, Dash{})
	}
	for y := 70; y < s.h-30; y += 81 {
		f.HLine(0, right, y, 1, grid, Dash{})
	}
	f.Clip(0, 0, right, s.h-30)
	f.Area(s.xs, s.upper, s.lower, lines[2].Alpha(0.07))
	f.Rect(0, s.h*66/100, right, s.h*74/100, lines[4].Alpha(0.10))
	s.candles(f, up, down)
	f.Polyline(s.xs, s.upper, 1.1, lines[2].Alpha(0.75), Dash{})
	f.Polyline(s.xs, s.lower, 1.1, lines[2].Alpha(0.75), Dash{})
	for k, ema := range s.emas {
		f.Polyline(s.xs, ema, 1.6, lines[k], Dash{})
	}
	f.Polyline(s.xs, s.rsi, 1.6, lines[4], Dash{})
	f.Polyline(s.xs, s.macd, 1.6, lines[2], Dash{})
	f.Polyline(s.xs, s.signal, 1.6, lines[1], Dash{})
	s.marks(f, bg, up, down)
	f.HLine(0, right, s.h/3, 1, up, Dash{2, 3})
	f.NoClip()
	for _, y := range [3]int{s.h * 58 / 100, s.h * 78 / 100, s.h - 30} {
		f.HLine(0, s.w, y, 1, border, Dash{})
	}
	f.VLine(right, 0, s.h, 1, border, Dash{})
	s.texts(f, bg, text, strong, lines)
}

func (s *scene) candles(f *Frame, up, down Color) {
	body := max(int((s.xs[1]-s.xs[0])*0.78), 1)
	if body%2 == 0 {
		body--
	}
	floor := s.h * 58 / 100
	zero := s.h * 9 / 10
	for i, xf := range s.xs {
		x := int(xf)
		c := up
		if s.close[i] > s.open[i] {
			c = down
		}
		f.Rect(x-body/2, floor-int(s.volume[i]), x-body/2+body, floor, c.Alpha(0.34))
		top, bottom := int(min(s.open[i], s.close[i])), int(max(s.open[i], s.close[i]))
		f.Rect(x, int(s.high[i]), x+1, int(s.low[i]), c)
		f.Rect(x-body/2, top, x-body/2+body, max(bottom, top+1), c)
		if d := int(s.macd[i] - s.signal[i]); d < 0 {
			f.Rect(x-body/2, zero+d, x-body/2+body, zero, up)
		} else {
			f.Rect(x-body/2, zero, x-body/2+body, zero+d, down)
		}
	}
}

func (s *scene) marks(f *Frame, bg, up, down Color) {
	face := s.stock.Face(Medium, 9)
	for i := 10; i < s.bars; i += 25 {
		x, y := s.xs[i], s.high[i]-7
		f.Triangle(x-5.5, y-7, x+5.5, y-7, x, y, down)
		f.Text(face, x-face.Width("Sell")/2, int(y)-12, "Sell", down)
		y = s.low[i] + 7
		f.Triangle(x-5.5, y+7, x+5.5, y+7, x, y, up)
		f.Circle(x, s.rsi[i], 4.5, bg)
		f.Circle(x, s.rsi[i], 3.2, up)
	}
	if s.bars > 60 {
		f.Segment(s.xs[20], s.rsi[20], s.xs[60], s.rsi[60], 1.8, down, Dash{6, 4})
	}
}

func (s *scene) texts(f *Frame, bg, text, strong Color, lines [5]Color) {
	small, title := s.stock.Face(Regular, 9), s.stock.Face(Medium, 12)
	bold := s.stock.Face(Medium, 9)
	f.Rect(0, 8, 400, 90, bg.Alpha(0.75))
	x := f.Text(title, 12, 24, "BTCUSDT", strong)
	f.Text(small, x+40, 24, "O 59,550.64  H 60,213.52  L 59,201.93  C 60,004.25  +0.74%  Vol 1.38K   2 Jan 2025 \u2013 4 Feb 2025 04:00 UTC", text)
	for i := range 3 {
		x := f.Text(small, 12, 45+21*i, "EMA 8 21 50 200 ", text)
		for _, c := range lines {
			x = f.Text(bold, x, 45+21*i, "58,389.55 ", c)
		}
	}
	for y := 70; y < s.h-30; y += 81 {
		f.Text(small, float64(s.w-72), y+5, strconv.Itoa(90-y/10)+",000", text)
	}
	for x := 60; x < s.w-80; x += 96 {
		f.Text(small, float64(x)-6, s.h-10, strconv.Itoa(x/48), text)
	}
	for i, c := range lines {
		y := s.h/3 + 19*i
		f.RoundRect(float64(s.w-79), float64(y), float64(s.w-5), float64(y+18), 2.5, c)
		ink := bg
		if luma(c) <= 150 {
			ink = Hex(0xFFFFFF)
		}
		f.Text(bold, float64(s.w-70), y+13, "65,040.96", ink)
	}
}

// luma is the Rec. 601 brightness of c, 0 to 255.
func luma(c Color) int { return (299*int(c.R) + 587*int(c.G) + 114*int(c.B) + 500) / 1000 }

package chart

import (
	"math"

	"candela/lib/chart/raster"
)

// theme is the set of colours of a picture.
type theme struct {
	name                     string
	background, grid, border raster.Color
	text, strong, muted      raster.Color
	up, down                 raster.Color
	histUp, histUpWeak       raster.Color
	histDown, histDownWeak   raster.Color
	warn                     raster.Color
	volume                   float64         // opacity
	cycle                    [8]raster.Color // any two differ by 25 in CIEDE2000, see the test
}

const (
	volumeThin  = 0.59 // opacity of volume where bodies are 2 px or less
	bandFill    = 0.07
	cloudFill   = 0.14
	areaFill    = 0.28
	levelLine   = 0.8
	profileOut  = 0.16
	profileArea = 0.34
	profilePOC  = 0.60
	formingBody = 0.35
)

// The places of the cycle, by their colour in the dark theme.
const (
	yellow = iota
	orange
	blue
	violet
	cyan
	pink
	green
	tan
)

// themes is indexed by Theme.
//
//nolint:gochecknoglobals // a table, never written
var themes = [...]theme{
	Dark: {
		name:       "dark",
		background: raster.Hex(0x131722), grid: raster.Hex(0x1E2330), border: raster.Hex(0x2E3442),
		text: raster.Hex(0xB2B5BE), strong: raster.Hex(0xE6E8EE), muted: raster.Hex(0x868B98),
		up: raster.Hex(0x26A69A), down: raster.Hex(0xEF5350),
		histUp: raster.Hex(0x26A69A), histUpWeak: raster.Hex(0x1B635F),
		histDown: raster.Hex(0xEF5350), histDownWeak: raster.Hex(0x84383B),
		warn:   raster.Hex(0xF2C94C),
		volume: 0.34,
		cycle: [8]raster.Color{
			yellow: raster.Hex(0xFFD93B), orange: raster.Hex(0xFE790C), blue: raster.Hex(0x64C6FA), violet: raster.Hex(0xB66EFF),
			cyan: raster.Hex(0x70FFED), pink: raster.Hex(0xFFBDE5), green: raster.Hex(0x70E83C), tan: raster.Hex(0x8F7F68),
		},
	},
	Light: {
		name:       "light",
		background: raster.Hex(0xFFFFFF), grid: raster.Hex(0xF0F2F6), border: raster.Hex(0xD9DDE5),
		text: raster.Hex(0x434651), strong: raster.Hex(0x131722), muted: raster.Hex(0x6E717C),
		up: raster.Hex(0x089981), down: raster.Hex(0xF23645),
		histUp: raster.Hex(0x26A69A), histUpWeak: raster.Hex(0xB2DFDB),
		histDown: raster.Hex(0xF05350), histDownWeak: raster.Hex(0xFBC9CC),
		warn:   raster.Hex(0xA66200),
		volume: 0.30,
		cycle: [8]raster.Color{
			yellow: raster.Hex(0xAF8D29), orange: raster.Hex(0xBF5002), blue: raster.Hex(0x316EF9), violet: raster.Hex(0x8A2B9E),
			cyan: raster.Hex(0x057D8D), pink: raster.Hex(0xEB5399), green: raster.Hex(0x3A8F0A), tan: raster.Hex(0x4E2E11),
		},
	},
}

func themeNames() []string {
	names := make([]string, 0, len(themes))
	for i := range themes {
		names = append(names, themes[i].name)
	}
	return names
}

// minContrast is the contrast of text that WCAG 2 asks for at level AA.
const minContrast = 4.5

// onPill is the text colour that reads best on a pill. Against every colour, either
// white or black has a contrast of 4.58.
func onPill(c raster.Color) raster.Color {
	white, ink := raster.Hex(0xFFFFFF), raster.Hex(0x131722)
	if contrast(c, ink) < minContrast {
		ink = raster.Hex(0)
	}
	if contrast(c, white) > contrast(c, ink) {
		return white
	}
	return ink
}

// readable returns c, or else the nearest mixture with the colour of strong text that
// has enough contrast for text on the background.
func (t *theme) readable(c raster.Color) raster.Color {
	const steps = 16
	for k := range steps {
		if mixed := t.strong.Alpha(float64(k) / steps).Over(c.Alpha(1)); contrast(mixed, t.background) >= minContrast {
			return mixed
		}
	}
	return t.strong
}

// contrast is the ratio of luminances that WCAG 2 defines, 1 to 21.
func contrast(a, b raster.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of an sRGB colour.
func luminance(c raster.Color) float64 {
	return float64(0.2126*linear(c.R)) + float64(0.7152*linear(c.G)) + float64(0.0722*linear(c.B))
}

func linear(channel uint8) float64 { return linears[channel] }

// linears has the linear value of each sRGB value.
//
//nolint:gochecknoglobals // a table, never written
var linears = func() (t [256]float64) {
	for i := range t {
		v := float64(i) / 255
		if t[i] = v / 12.92; v > 0.04045 {
			t[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return t
}()

// lineColor returns the colour of a line whose label has a conventional meaning.
func (t *theme) lineColor(label string) (raster.Color, bool) {
	switch label {
	case "+DI", "Long", "Senkou A", "S1", "S2", "S3", "S4", "S5":
		return t.up, true
	case "-DI", "Short", "Senkou B", "R1", "R2", "R3", "R4", "R5":
		return t.down, true
	}
	return raster.Color{}, false
}

package chart

import "candela/internal/picture/raster"

// theme is the set of colours of a picture.
type theme struct {
	name                     string
	background, grid, border raster.Color
	text, strong, muted      raster.Color
	up, down                 raster.Color
	histUp, histUpWeak       raster.Color
	histDown, histDownWeak   raster.Color
	warn                     raster.Color
	profile, poc             raster.Color
	volume                   float64 // opacity
	cycle                    [5]raster.Color
}

const (
	volumeThin  = 0.59 // opacity of volume where bodies are 2 px or less
	bandFill    = 0.07
	cloudFill   = 0.14
	areaFill    = 0.28
	bandLine    = 0.75
	levelLine   = 0.8
	backing     = 0.75
	profileOut  = 0.16
	profileArea = 0.34
	profilePOC  = 0.60
	formingBody = 0.35
)

// The places of the cycle that have a meaning of their own.
const (
	yellow = iota
	orange
	blue
	violet
	indigo
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
		warn: raster.Hex(0xF2C94C), profile: raster.Hex(0x5B7CFA), poc: raster.Hex(0xF2C94C),
		volume: 0.34,
		cycle: [5]raster.Color{
			raster.Hex(0xF2C94C), raster.Hex(0xFF8F3F), raster.Hex(0x4C8DFF), raster.Hex(0xC77DFF), raster.Hex(0x9575FF),
		},
	},
	Light: {
		name:       "light",
		background: raster.Hex(0xFFFFFF), grid: raster.Hex(0xF0F2F6), border: raster.Hex(0xD9DDE5),
		text: raster.Hex(0x434651), strong: raster.Hex(0x131722), muted: raster.Hex(0x787B86),
		up: raster.Hex(0x089981), down: raster.Hex(0xF23645),
		histUp: raster.Hex(0x26A69A), histUpWeak: raster.Hex(0xB2DFDB),
		histDown: raster.Hex(0xF05350), histDownWeak: raster.Hex(0xFBC9CC),
		warn: raster.Hex(0xB26A00), profile: raster.Hex(0x5B7CFA), poc: raster.Hex(0xF2C94C),
		volume: 0.30,
		cycle: [5]raster.Color{
			raster.Hex(0xD9A400), raster.Hex(0xF57C00), raster.Hex(0x2962FF), raster.Hex(0x9C27B0), raster.Hex(0x7E57C2),
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

// onPill is the text colour that reads best on a pill.
func onPill(c raster.Color) raster.Color {
	if c.Luma() > 150 {
		return raster.Hex(0x131722)
	}
	return raster.Hex(0xFFFFFF)
}

// lineColor returns the colour of a line whose label has a conventional meaning.
func (t *theme) lineColor(label string) (raster.Color, bool) {
	switch label {
	case "+DI", "Long", "Senkou A", "S1", "S2", "S3", "S4", "S5":
		return t.up, true
	case "-DI", "Short", "Senkou B", "R1", "R2", "R3", "R4", "R5":
		return t.down, true
	case "Tenkan":
		return t.cycle[blue], true
	case "Kijun":
		return t.cycle[orange], true
	case "Chikou":
		return t.muted, true
	case "Pivot", "POC", "dPOC", "nPOC":
		return t.cycle[yellow], true
	case "VAH", "VAL":
		return t.cycle[blue], true
	}
	return raster.Color{}, false
}

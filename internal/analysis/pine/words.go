package pine

import (
	"strings"

	"candela/internal/analysis/indicator"
)

// arrow makes a mark of plotarrow: up below the bar, down above it.
func arrow(m *indicator.Mark, v float64, up, down indicator.Tone) {
	m.Place, m.Form, m.Color = indicator.BelowBar, indicator.ArrowUp, up
	if v < 0 {
		m.Place, m.Form, m.Color = indicator.AboveBar, indicator.ArrowDown, down
	}
	if m.Color == 0 {
		m.Color = 0x26a69aff
		if v < 0 {
			m.Color = 0xef5350ff
		}
	}
}

// placeOf reads location.*.
func placeOf(word string) indicator.Place {
	switch word {
	case "belowbar":
		return indicator.BelowBar
	case "top":
		return indicator.AtTop
	case "bottom":
		return indicator.AtBottom
	case "absolute":
		return indicator.AtValue
	}
	return indicator.AboveBar
}

// formOf reads shape.* and the same names in label styles.
func formOf(word string) indicator.Form {
	switch strings.ReplaceAll(word, "_", "") {
	case "cross":
		return indicator.Cross
	case "triangleup":
		return indicator.TriangleUp
	case "triangledown":
		return indicator.TriangleDown
	case "arrowup":
		return indicator.ArrowUp
	case "arrowdown":
		return indicator.ArrowDown
	case "circle":
		return indicator.Circle
	case "square":
		return indicator.Square
	case "diamond":
		return indicator.Diamond
	case "flag":
		return indicator.Flag
	case "labelup":
		return indicator.LabelUp
	case "labeldown":
		return indicator.LabelDown
	}
	return indicator.XCross
}

// sizeOf reads size.*.
func sizeOf(word string) indicator.Size {
	switch word {
	case "tiny":
		return indicator.Tiny
	case "small":
		return indicator.Little
	case "normal":
		return indicator.Normal
	case "large":
		return indicator.Large
	case "huge":
		return indicator.Huge
	}
	return indicator.Auto
}

// pointsOf returns the size of a text that is given in points.
func pointsOf(points float64) indicator.Size {
	switch {
	case !(points > 0):
		return indicator.Auto
	case points <= 8:
		return indicator.Tiny
	case points <= 10:
		return indicator.Little
	case points <= 14:
		return indicator.Normal
	case points <= 20:
		return indicator.Large
	}
	return indicator.Huge
}

// extendOf reads extend.*.
func extendOf(word string) indicator.Extend {
	switch word {
	case "left":
		return indicator.ExtendLeft
	case "right":
		return indicator.ExtendRight
	case "both":
		return indicator.ExtendLeft | indicator.ExtendRight
	}
	return 0
}

// alignOf reads text.align_*.
func alignOf(word string) indicator.Align {
	switch strings.TrimPrefix(word, "align_") {
	case "left", "top":
		return indicator.Start
	case "right", "bottom":
		return indicator.End
	}
	return indicator.Middle
}

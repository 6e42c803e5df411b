package pine

import (
	"strings"

	"candela/lib/ta"
)

// arrow makes a mark of plotarrow: up below the bar, down above it.
func arrow(m *ta.Mark, v float64, up, down ta.Tone) {
	m.Place, m.Form, m.Color = ta.BelowBar, ta.ArrowUp, up
	if v < 0 {
		m.Place, m.Form, m.Color = ta.AboveBar, ta.ArrowDown, down
	}
	if m.Color == 0 {
		m.Color = 0x26a69aff
		if v < 0 {
			m.Color = 0xef5350ff
		}
	}
}

// placeOf reads location.*.
func placeOf(word string) ta.Place {
	switch word {
	case "belowbar":
		return ta.BelowBar
	case "top":
		return ta.AtTop
	case "bottom":
		return ta.AtBottom
	case "absolute":
		return ta.AtValue
	}
	return ta.AboveBar
}

// formOf reads shape.* and the same names in label styles.
func formOf(word string) ta.Form {
	switch strings.ReplaceAll(word, "_", "") {
	case "cross":
		return ta.Cross
	case "triangleup":
		return ta.TriangleUp
	case "triangledown":
		return ta.TriangleDown
	case "arrowup":
		return ta.ArrowUp
	case "arrowdown":
		return ta.ArrowDown
	case "circle":
		return ta.Circle
	case "square":
		return ta.Square
	case "diamond":
		return ta.Diamond
	case "flag":
		return ta.Flag
	case "labelup":
		return ta.LabelUp
	case "labeldown":
		return ta.LabelDown
	}
	return ta.XCross
}

// sizeOf reads size.*.
func sizeOf(word string) ta.Size {
	switch word {
	case "tiny":
		return ta.Tiny
	case "small":
		return ta.Little
	case "normal":
		return ta.Normal
	case "large":
		return ta.Large
	case "huge":
		return ta.Huge
	}
	return ta.Auto
}

// pointsOf returns the size of a text that is given in points.
func pointsOf(points float64) ta.Size {
	switch {
	case !(points > 0):
		return ta.Auto
	case points <= 8:
		return ta.Tiny
	case points <= 10:
		return ta.Little
	case points <= 14:
		return ta.Normal
	case points <= 20:
		return ta.Large
	}
	return ta.Huge
}

// extendOf reads extend.*.
func extendOf(word string) ta.Extend {
	switch word {
	case "left":
		return ta.ExtendLeft
	case "right":
		return ta.ExtendRight
	case "both":
		return ta.ExtendLeft | ta.ExtendRight
	}
	return 0
}

// alignOf reads text.align_*.
func alignOf(word string) ta.Align {
	switch strings.TrimPrefix(word, "align_") {
	case "left", "top":
		return ta.Start
	case "right", "bottom":
		return ta.End
	}
	return ta.Middle
}

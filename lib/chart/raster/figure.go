package raster

import "slices"

// figureRunes are the signs beyond the typeface that scripts and notes use: arrows,
// triangles, marks and plain emoji, and two characters between parts of emoji that take no
// room.
const figureRunes = "\u200d\u2022\u2190\u2191\u2192\u2193\u2197\u2198\u2500\u25a0\u25a1\u25b2\u25b3\u25b6\u25ba\u25bc\u25bd\u25c0\u25c6\u25c7\u25cb\u25cf" +
	"\u2605\u2606\u26a0\u26a1\u26aa\u26ab\u2705\u2713\u2714\u2717\u2718\u274c\u27a1\u2b06\u2b07\ufe0f" +
	"\U0001f534\U0001f535\U0001f53a\U0001f53b\U0001f7e0\U0001f7e1\U0001f7e2"

// outline is a closed contour in hundredths of the height of a capital, y growing upwards
// from the baseline.
type outline []point

// figure returns a sign that is drawn here, nil if there is none for the character.
func figure(r rune, capital int) *glyph {
	width, outlines := figureOutlines(r)
	if outlines == nil && width < 0 {
		return nil
	}
	h := float64(capital) / 100
	g := &glyph{}
	if width > 0 {
		const side = 8
		g.advance = int(float64((width + 2*side) * h))
		for _, o := range outlines {
			g.trace(o, side, h)
		}
	}
	return g
}

// trace adds a contour: straight lines, or the arcs of a disc.
func (g *glyph) trace(o outline, side, h float64) {
	at := func(p point) point { return point{float64((p.x + side) * h), -float64(p.y * h)} }
	if len(o) == 2*arcs {
		for i := 0; i < len(o); i += 2 {
			g.curves = append(g.curves, curve{at(o[i]), at(o[i+1]), at(o[(i+2)%len(o)])})
		}
		return
	}
	for i := range o {
		a, c := at(o[i]), at(o[(i+1)%len(o)])
		g.curves = append(g.curves, curve{a, a, c})
	}
}

// arcs is the number of curves of a circle.
const arcs = 8

// disc is a circle: points on it and, after each, the control point of the arc that follows.
// It goes round as the other outlines do.
func disc(x, radius float64) outline {
	const diagonal, tangent, y = 0.70710678118654752, 0.41421356237309505, 45
	unit := [2 * arcs]point{
		{0, 1},
		{tangent, 1},
		{diagonal, diagonal},
		{1, tangent},
		{1, 0},
		{1, -tangent},
		{diagonal, -diagonal},
		{tangent, -1},
		{0, -1},
		{-tangent, -1},
		{-diagonal, -diagonal},
		{-1, -tangent},
		{-1, 0},
		{-1, tangent},
		{-diagonal, diagonal},
		{-tangent, 1},
	}
	out := make(outline, len(unit))
	for i, p := range unit {
		out[i] = point{x + float64(radius*p.x), y + float64(radius*p.y)}
	}
	return out
}

// hole is an outline that goes the other way round.
func hole(o outline) outline {
	out := slices.Clone(o)
	slices.Reverse(out)
	if len(o) == 2*arcs { // points first, control points between them
		out = append(out[1:], out[0])
	}
	return out
}

// mirrored exchanges up and down; turned exchanges x and y.
func mirrored(o outline) outline {
	return reflect(o, func(p point) point { return point{p.x, 90 - p.y} })
}
func turned(o outline) outline { return reflect(o, func(p point) point { return point{p.y, p.x} }) }
func flipped(o outline) outline {
	return reflect(o, func(p point) point { return point{90 - p.x, p.y} })
}

func reflect(o outline, f func(point) point) outline {
	out := make(outline, len(o))
	for i, p := range o {
		out[len(o)-1-i] = f(p)
	}
	return out
}

// figureOutlines returns the width and the contours of a sign; -1 if there is none.
func figureOutlines(r rune) (width float64, outlines []outline) {
	switch r {
	case '\u200d', '\ufe0f':
		return 0, nil
	case '\u2500':
		return 60, []outline{{{-8, 42}, {68, 42}, {68, 34}, {-8, 34}}}
	case '\u2022':
		return 40, []outline{disc(20, 18)}
	case '\u25cb', '\u26aa':
		return 90, []outline{disc(45, 43), hole(disc(45, 33))}
	case '\u25cf', '\u26ab', '\U0001f534', '\U0001f535', '\U0001f7e0', '\U0001f7e1', '\U0001f7e2':
		return 90, []outline{disc(45, 43)}
	case '\u26a0':
		return 100, []outline{{{50, 96}, {100, 4}, {0, 4}}, hole(outline{{44, 66}, {56, 66}, {54, 34}, {46, 34}}), hole(outline{{44, 26}, {56, 26}, {56, 14}, {44, 14}})}
	case '\u26a1':
		return 60, []outline{{{40, 98}, {30, 60}, {56, 60}, {14, -4}, {26, 40}, {2, 40}}}
	case '\u2713', '\u2714', '\u2705':
		return 92, []outline{{{4, 44}, {16, 56}, {33, 36}, {74, 92}, {88, 82}, {34, 8}}}
	case '\u2717', '\u2718', '\u274c':
		return 84, []outline{{{12, 86}, {42, 56}, {72, 86}, {84, 74}, {54, 44}, {84, 14}, {72, 2}, {42, 32}, {12, 2}, {0, 14}, {30, 44}, {0, 74}}}
	}
	if o := pointing(r); o != nil {
		return 90, o
	}
	if o := regular(r); o != nil {
		return 92, o
	}
	return -1, nil
}

// pointing are the arrows and triangles.
func pointing(r rune) []outline {
	triangle, inner := outline{{45, 88}, {90, 6}, {0, 6}}, outline{{45, 66}, {74, 15}, {16, 15}}
	arrow := outline{{45, 90}, {77, 52}, {67, 44}, {51, 62}, {51, 0}, {39, 0}, {39, 62}, {23, 44}, {13, 52}}
	slant := outline{{26, 84}, {84, 84}, {84, 26}, {70, 26}, {70, 60}, {18, 8}, {8, 18}, {60, 70}, {26, 70}}
	switch r {
	case '\u2191', '\u2b06':
		return []outline{arrow}
	case '\u2193', '\u2b07':
		return []outline{mirrored(arrow)}
	case '\u2192', '\u27a1':
		return []outline{turned(arrow)}
	case '\u2190':
		return []outline{flipped(turned(arrow))}
	case '\u2197':
		return []outline{slant}
	case '\u2198':
		return []outline{mirrored(slant)}
	case '\u25b2', '\U0001f53a':
		return []outline{triangle}
	case '\u25b3':
		return []outline{triangle, hole(inner)}
	case '\u25bc', '\U0001f53b':
		return []outline{mirrored(triangle)}
	case '\u25bd':
		return []outline{mirrored(triangle), hole(mirrored(inner))}
	case '\u25b6', '\u25ba':
		return []outline{turned(triangle)}
	case '\u25c0':
		return []outline{flipped(turned(triangle))}
	}
	return nil
}

// regular are squares, diamonds and stars, full or hollow.
func regular(r rune) []outline {
	square, diamond := outline{{4, 84}, {84, 84}, {84, 4}, {4, 4}}, outline{{45, 92}, {88, 45}, {45, -2}, {2, 45}}
	star := outline{{46, 98}, {58, 62}, {92, 62}, {64, 40}, {75, 4}, {46, 26}, {17, 4}, {28, 40}, {0, 62}, {34, 62}}
	switch r {
	case '\u25a0':
		return []outline{square}
	case '\u25a1':
		return []outline{square, hole(outline{{14, 74}, {74, 74}, {74, 14}, {14, 14}})}
	case '\u25c6':
		return []outline{diamond}
	case '\u25c7':
		return []outline{diamond, hole(outline{{45, 74}, {71, 45}, {45, 16}, {19, 45}})}
	case '\u2605':
		return []outline{star}
	case '\u2606':
		return []outline{star, hole(outline{{46, 74}, {52, 55}, {70, 55}, {55, 44}, {60, 26}, {46, 37}, {32, 26}, {37, 44}, {22, 55}, {40, 55}})}
	}
	return nil
}

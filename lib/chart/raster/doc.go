// Package raster draws antialiased charts into indexed 8-bit frames and writes
// them as PNG. It owns pixels, palettes, glyph masks and the PNG framing; it
// knows nothing of markets, panes or scales: package chart lays out a scene
// and calls the primitives here in painting order.
//
// Coordinates: the pixel in column x and row y covers the square from (x, y)
// to (x+1, y+1), y growing downwards. Integer arguments name pixel edges
// (Rect(2, 3, 5, 4, c) paints three pixels), float arguments are positions in
// the same space, so the middle of the top left pixel is (0.5, 0.5).
//
// Bad input never panics: NaN and infinite positions break a line, everything
// else is clipped to the frame and to the clip rectangle.
//
// The same calls give the same bytes on every architecture. Float products
// that feed a sum are written float64(x*y) + z, because the compiler may fuse
// x*y+z into one rounding on arm64, and coverage is accumulated in integers.
package raster

package raster

// Color is an sRGB colour with straight (not premultiplied) alpha. Blending is
// done on the sRGB values, as browsers do.
type Color struct{ R, G, B, A uint8 }

// Hex returns the opaque colour 0xRRGGBB.
func Hex(rgb uint32) Color {
	return Color{R: uint8(rgb >> 16 & 0xff), G: uint8(rgb >> 8 & 0xff), B: uint8(rgb & 0xff), A: 255}
}

// Alpha returns c at the given opacity, 0 to 1; values outside are clamped and
// NaN counts as 0.
func (c Color) Alpha(opacity float64) Color {
	switch {
	case !(opacity > 0): // the negation is what sends NaN here
		c.A = 0
	case opacity >= 1:
		c.A = 255
	default:
		c.A = uint8(float64(opacity*255) + 0.5)
	}
	return c
}

// Over returns the opaque colour seen when c lies on the opaque colour under.
func (c Color) Over(under Color) Color {
	return Hex(mix(c, full, under.rgb()))
}

// rgb packs c without its alpha.
func (c Color) rgb() uint32 { return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B) }

// key packs c with its alpha; it is unique per Color.
func (c Color) key() uint32 { return c.rgb()<<8 | uint32(c.A) }

const (
	levels = 16         // coverage levels of a pixel, 0 to full
	full   = levels - 1 // the level of a pixel that is covered entirely
	// weightMax is the product of full alpha and full coverage.
	weightMax = 255 * full
)

// mix returns src at coverage level over the opaque colour under, rounded to
// nearest per channel.
func mix(src Color, level int, under uint32) uint32 {
	a := uint32(src.A) * uint32(level) //nolint:gosec // level is 0..15
	b := weightMax - a
	r := (uint32(src.R)*a + (under>>16&0xff)*b + weightMax/2) / weightMax
	g := (uint32(src.G)*a + (under>>8&0xff)*b + weightMax/2) / weightMax
	bl := (uint32(src.B)*a + (under&0xff)*b + weightMax/2) / weightMax
	return r<<16 | g<<8 | bl
}

package chart

import (
	"math"
	"testing"

	"candela/lib/chart/raster"
)

// lab is a colour in CIE L*a*b* under D65.
type lab struct{ l, a, b float64 }

func labOf(r, g, b float64) lab {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124564*r + 0.3575761*g + 0.1804375*b) / 0.95047)
	y := f(0.2126729*r + 0.7151522*g + 0.0721750*b)
	z := f((0.0193339*r + 0.1191920*g + 0.9503041*b) / 1.08883)
	return lab{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// seen returns how a colour is perceived by someone whose cones mix the linear
// channels as given; nil is ordinary sight.
func seen(c raster.Color, mixed *[3][3]float64) lab {
	v := [3]float64{linear(c.R), linear(c.G), linear(c.B)}
	if mixed != nil {
		in := v
		for i, row := range mixed {
			v[i] = min(max(row[0]*in[0]+row[1]*in[1]+row[2]*in[2], 0), 1)
		}
	}
	return labOf(v[0], v[1], v[2])
}

// ciede2000 is the colour difference of CIE 142-2001.
func ciede2000(p, q lab) float64 {
	deg := math.Pi / 180
	cm := (math.Hypot(p.a, p.b) + math.Hypot(q.a, q.b)) / 2
	far := func(c float64) float64 { c7 := math.Pow(c, 7); return math.Sqrt(c7 / (c7 + math.Pow(25, 7))) }
	g := 1 + 0.5*(1-far(cm))
	c1, c2 := math.Hypot(g*p.a, p.b), math.Hypot(g*q.a, q.b)
	hue := func(a, b float64) float64 {
		if a == 0 && b == 0 {
			return 0
		}
		return math.Mod(math.Atan2(b, a)/deg+360, 360)
	}
	h1, h2 := hue(g*p.a, p.b), hue(g*q.a, q.b)
	dh, hm := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, hm = 0, h1+h2
	case math.Abs(dh) > 180:
		dh -= math.Copysign(360, dh)
		if hm += 180; hm >= 360 {
			hm -= 360
		}
	}
	dl, dc, dH := q.l-p.l, c2-c1, 2*math.Sqrt(c1*c2)*math.Sin(dh/2*deg)
	lm, c := (p.l+q.l)/2, (c1+c2)/2
	t := 1 - 0.17*math.Cos((hm-30)*deg) + 0.24*math.Cos(2*hm*deg) + 0.32*math.Cos((3*hm+6)*deg) - 0.20*math.Cos((4*hm-63)*deg)
	sl := 1 + 0.015*(lm-50)*(lm-50)/math.Sqrt(20+(lm-50)*(lm-50))
	sc, sh := 1+0.045*c, 1+0.015*c*t
	away := (hm - 275) / 25
	turn := -math.Sin(60*math.Exp(-away*away)*deg) * 2 * far(c)
	return math.Sqrt(dl/sl*dl/sl + dc/sc*dc/sc + dH/sh*dH/sh + turn*dc/sc*dH/sh)
}

// TestCIEDE2000_MatchesThePublishedPairs uses pairs of Sharma, Wu and Dalal (2005).
func TestCIEDE2000_MatchesThePublishedPairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p, q lab
		want float64
	}{
		{lab{50, 2.6772, -79.7751}, lab{50, 0, -82.7485}, 2.0425},
		{lab{50, -1.3802, -84.2814}, lab{50, 0, -82.7485}, 1.0000},
		{lab{50, 2.5, 0}, lab{73, 25, -18}, 27.1492},
		{lab{50, 2.5, 0}, lab{61, -5, 29}, 22.8977},
		{lab{60.2574, -34.0099, 36.2677}, lab{60.4626, -34.1751, 39.4387}, 1.2644},
		{lab{2.0776, 0.0795, -1.1350}, lab{0.9033, -0.0636, -0.5514}, 0.9082},
	} {
		if got := ciede2000(c.p, c.q); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%v and %v differ by %.4f, want %.4f", c.p, c.q, got, c.want)
		}
	}
}

// TestThemes_ColoursDiffer: any two colours of overlays differ by 25, the first
// five also for people who see little of red or green, and none looks like a candle.
func TestThemes_ColoursDiffer(t *testing.T) {
	t.Parallel()
	// The matrices of Machado, Oliveira and Fernandes (2009) at full severity.
	protan := [3][3]float64{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}
	deutan := [3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}
	for i := range themes {
		th := &themes[i]
		for j, a := range th.cycle {
			for k, b := range th.cycle[:j] {
				if d := ciede2000(seen(a, nil), seen(b, nil)); d < 25 {
					t.Errorf("%s: colours %d and %d differ by %.1f", th.name, k, j, d)
				}
				for _, sight := range []*[3][3]float64{&protan, &deutan} {
					if d := ciede2000(seen(a, sight), seen(b, sight)); j < 5 && d < 9 {
						t.Errorf("%s: colours %d and %d differ by %.1f without red or green", th.name, k, j, d)
					}
				}
			}
			for _, side := range []raster.Color{th.up, th.down} {
				if d := ciede2000(seen(a, nil), seen(side, nil)); d < 18 {
					t.Errorf("%s: colour %d differs from a candle by %.1f", th.name, j, d)
				}
			}
			if c := contrast(a, th.background); c < 3 {
				t.Errorf("%s: a line in colour %d has a contrast of %.2f", th.name, j, c)
			}
		}
	}
}

// TestThemes_TextCanBeRead: whatever the colour of a series, its value in the legend and
// on its pill has the contrast of WCAG 2 AA.
func TestThemes_TextCanBeRead(t *testing.T) {
	t.Parallel()
	for i := range themes {
		th := &themes[i]
		for _, c := range []raster.Color{th.text, th.strong, th.muted, th.warn} {
			if got := contrast(c, th.background); got < minContrast {
				t.Errorf("%s: text %v has a contrast of %.2f", th.name, c, got)
			}
		}
		for rgb := uint32(0); rgb < 1<<24; rgb += 4099 {
			c := raster.Hex(rgb)
			if got := contrast(th.readable(c), th.background); got < minContrast {
				t.Fatalf("%s: %v is written in %v, contrast %.2f", th.name, c, th.readable(c), got)
			}
			if got := contrast(onPill(c), c); got < minContrast {
				t.Fatalf("a pill of %v has text of contrast %.2f", c, got)
			}
		}
	}
}

package ta

import "fmt"

func volumeProfile() Def {
	return Def{
		Name: "volume_profile", Aliases: []string{"vp", "vpvr"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Volume by price over the visible bars; where trading took place, with the point of control and the 70 % value area.",
		Formula: "The range from lowest low to highest high is divided into `bins` rows; a bar's volume is spread over its own range by overlap " +
			"(a bar without range counts where it closed). " + pocRule + " The value area grows from the POC by `va_step` rows " +
			"towards the heavier side, down where both are equal, until it holds 70 %.",
		Truth: "own definition after the public one; second derivation in the tests",
		Params: []Param{
			Int("bins", 24, 1, 500, "rows the price range is divided into"),
			side("left"), rangeBars(),
			Bool("split_up_down", false, "two bars a row: volume of rising and of falling bars"),
			Color("color_up", "#26a69a", "colour of rising volume when split"),
			Color("color_down", "#ef5350", "colour of falling volume when split"),
			opacity(), vaStep(1),
		},
		New: func(v Values) Instance {
			return &whole{
				label: fmt.Sprintf("VPVR(%d)", v.Int("bins")),
				compute: func(in Input, r *Result) {
					p, ok := visibleVolume(in, v)
					if !ok {
						return
					}
					a, ok := p.area(v.Int("va_step"))
					if !ok {
						return
					}
					r.HBars = p.bars(a, v.Text("side") == "left", v.Bool("split_up_down"))
					r.HLines = p.levels(a)
					r.Look = profileLook(v)
					r.Look.Up, r.Look.Down = v.setText("color_up"), v.setText("color_down")
				},
			}
		},
	}
}

// pocRule describes the point of control of every profile.
const pocRule = "POC is the heaviest row; of equal rows the one nearest the middle, and the lower of two equally near. " +
	"Weights within 1e-9 of each other are equal, and a price within 1e-9 of a row of an edge is in the upper row, so rounding has no effect."

// The parameters that profiles share.

func side(def string) Param {
	return Choice("side", def, []string{"left", "right"}, "edge of the plot the bars grow from")
}

func rangeBars() Param {
	return OptionalInt("range_bars", 1, 100_000, "use only this many of the newest bars; unset: all of them")
}

func opacity() Param { return Num("opacity", 0.35, 0, 1, "opacity of the bars") }

// profileLook is the user's look of a profile.
func profileLook(v Values) *Look {
	if !v.isSet("opacity") {
		return &Look{}
	}
	x := v.Num("opacity")
	return &Look{Opacity: &x}
}

func vaStep(def int) Param {
	return Int("va_step", def, 1, 2, "rows the value area grows by: 1 as volume profiles do, 2 as Market Profile does")
}

// visibleVolume is the volume profile of the requested bars and rows.
func visibleVolume(in Input, v Values) (profile, bool) {
	from, to := span(in, v)
	p, ok := newProfile(in.Bars, from, to, v.Int("bins"))
	if ok {
		p.addVolume(in.Bars, from, to)
	}
	return p, ok
}

// span returns the bars a profile covers.
func span(in Input, v Values) (from, to int) {
	to = in.Bars.Len()
	if n, set := v.OptionalInt("range_bars"); set {
		from = max(0, to-n)
	}
	return from, to
}

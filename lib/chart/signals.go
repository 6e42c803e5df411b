package chart

import (
	"math"
	"slices"
	"strings"

	"candela/lib/ta"
)

// Arrows, in logical pixels.
const (
	arrowHalf   = 5.5
	arrowHeight = 7.5
	arrowOffset = 7 // from the bar to the tip
	arrowPitch  = 12
	wordGap     = 5   // from the bar to a text without an arrow
	maxText     = 400 // marker texts
)

// look is how a signal is drawn.
type look struct {
	text  string // beside an arrow, or alone where there is none
	arrow bool   // none means a dot, or a text alone
	flip  bool   // an arrow that is named only where it could be another indicator's
	up    bool
	gold  bool
	minor bool // a smaller dot
	over  bool // a text without an arrow stands over the bar, else under it
	quiet bool // not drawn: the area of the indicator shows it

	pattern *candleLook // of a candle pattern
}

// looks has the labels of signals that are more than minor dots.
//
//nolint:gochecknoglobals // a table, never written
var looks = map[string]look{
	"buy":             {text: "Buy", arrow: true, up: true},
	"sell":            {text: "Sell", arrow: true},
	"gold_buy":        {text: "Gold", arrow: true, up: true, gold: true},
	"buy_oversold":    {text: "Buy OS", arrow: true, up: true},
	"sell_overbought": {text: "Sell OB", arrow: true},
	"flip_up":         {arrow: true, flip: true, up: true},
	"flip_down":       {arrow: true, flip: true},
	"cross_up_os":     {up: true},
	"wt_bull_div":     {up: true},
	"rsi_bull_div":    {up: true},
	"stoch_bull_div":  {up: true},
	"higher_high":     {text: "HH", over: true},
	"lower_high":      {text: "LH", over: true},
	"higher_low":      {text: "HL", up: true},
	"lower_low":       {text: "LL", up: true},
	"bos_up":          {text: "BOS", up: true, over: true},
	"bos_down":        {text: "BOS"},
	"choch_up":        {text: "CHoCH", up: true, over: true},
	"choch_down":      {text: "CHoCH"},
	"sweep_high":      {text: "Sweep", over: true},
	"sweep_low":       {text: "Sweep", up: true},
	"fvg_up":          {quiet: true},
	"fvg_down":        {quiet: true},
	"fvg_filled":      {quiet: true},
	"gap_up":          {quiet: true},
	"gap_down":        {quiet: true},
	"gap_filled":      {quiet: true},
	"ob_up":           {quiet: true},
	"ob_down":         {quiet: true},
	"squeeze_on":      {quiet: true},
	"squeeze_off":     {quiet: true},
	"cross_down_ob":   {},
	"wt_bear_div":     {},
	"rsi_bear_div":    {},
	"stoch_bear_div":  {},
}

// lookOf returns how a signal is drawn. The direction of a minor dot is read from the
// words of its label.
func lookOf(label string) look {
	if known, ok := looks[label]; ok {
		return known
	}
	if known, ok := candleLooks()[label]; ok {
		return known
	}
	for _, word := range [...]string{"up", "buy", "bull", "oversold"} {
		if strings.Contains(label, word) {
			return look{up: true, minor: true}
		}
	}
	return look{minor: true}
}

// dense reports whether bars are so near to each other that dots would hide them.
func (l *layout) dense() bool { return l.n*minorStep*l.s > l.Width }

// minorStep is the distance of bars in logical pixels from which minor dots are drawn.
const minorStep = 3

// dotWords explains the minor dots of a result: "dots: cross".
func dotWords(signals []ta.Signal) string {
	words := [...]struct{ in, word string }{{"cross", "cross"}, {"breakout", "breakout"}, {"over", "zone exit"}, {"div", "divergence"}, {"small", "weak cross"}}
	var seen [len(words)]bool
	for i := range signals {
		if k := lookOf(signals[i].Label); k.arrow || k.pattern != nil {
			continue
		}
		for w := range words {
			if strings.Contains(signals[i].Label, words[w].in) {
				seen[w] = true
				break
			}
		}
	}
	text := ""
	for w, known := range seen {
		switch {
		case !known:
		case text == "":
			text = "dots: " + words[w].word
		default:
			text += ", " + words[w].word
		}
	}
	return text
}

// Distances between signals of a kind where several bars share a column, in logical
// pixels. Nearer they would hide the prices and each other.
const (
	minorPitch = 40
	markPitch  = 26
)

// thinSignals selects the signals to draw. Where bars are dense, minor ones are not
// drawn over the price, and the others of one kind and direction keep a distance, the
// newest first; the header counts those left out, and JSON results have all.
func (l *layout) thinSignals() {
	for v := range l.each {
		if v.scripted() {
			continue // its marks show what it wants to be seen
		}
		if !l.dense() {
			v.marks = v.Signals
			continue
		}
		from := len(l.kept)
		var last [7]float64 // of each kind and direction, the one to the right
		for k := range last {
			last[k] = math.Inf(1)
		}
		for _, s := range slices.Backward(v.Signals) {
			if s.X < 0 || s.X >= l.n {
				continue
			}
			k := lookOf(s.Label)
			kind, pitch := kindOf(k)
			if k.minor && v.pane == 0 || last[kind]-l.xs[s.X] < float64(pitch*l.s) {
				l.thinned++
				continue
			}
			last[kind] = l.xs[s.X]
			l.kept = append(l.kept, s)
		}
		v.marks = l.kept[from:]
		slices.Reverse(v.marks)
	}
}

// kindOf numbers the kinds of signals, each with the distance that it keeps.
func kindOf(k look) (kind, pitch int) {
	kind, pitch = 0, markPitch
	switch {
	case k.gold:
		return 6, pitch // rare: an ordinary one must not hide it
	case k.minor:
		pitch = minorPitch
	case !k.arrow:
		kind = 2
	default:
		kind = 4
	}
	if k.up {
		kind++
	}
	return kind, pitch
}

// drawSignals places the markers: dots at their value, buy arrows under the bar and
// sell arrows over it. Arrows are placed before texts, so that no text covers one.
func (l *layout) drawSignals() {
	for v, a := range l.each {
		flip := l.flipName(v)
		for _, s := range v.marks {
			if s.X < 0 || s.X >= l.n || !finite(s.Y) {
				continue
			}
			k := lookOf(s.Label)
			switch {
			case k.quiet:
			case k.flip && hasStyle(v.Result, ta.CandleClose): // the candles change colour
			case k.arrow:
				if k.flip {
					k.text = flip
				}
				l.arrow(v.pane, s.X, s.Y, k)
			case k.text != "":
				l.word(v.pane, s.X, s.Y, k)
			case k.pattern != nil:
				l.candleMark(v.pane, s.X, s.Y, k)
			case k.minor:
				l.dot(v.pane, l.xs[s.X], a.y(s.Y), 2.4, 3.4, l.sideColor(k.up))
			default:
				l.dot(v.pane, l.xs[s.X], a.y(s.Y), 3.2, 4.5, l.sideColor(k.up))
			}
		}
	}
	for i := range l.arrows {
		l.arrowText(&l.arrows[i])
	}
	l.drawTrades()
}

// flipName is the text of an indicator's flips: its name where another one flips in the
// same pane, else none, because its line shows what has turned.
func (l *layout) flipName(v *shown) string {
	for o := range l.each {
		if o.Result != v.Result && o.pane == v.pane && !hasStyle(o.Result, ta.CandleClose) &&
			slices.ContainsFunc(o.Signals, func(s ta.Signal) bool { return lookOf(s.Label).flip }) {
			name, _ := legendName(v.Label)
			return name
		}
	}
	return ""
}

// drawTrades places a dot at each trade, over everything else at its bar.
func (l *layout) drawTrades() {
	for _, t := range l.spec.Trades {
		if t.X >= 0 && t.X < l.n && finite(t.Price) {
			l.dot(0, l.xs[t.X], l.Panes[0].axis.y(t.Price), 4.2, 6, l.sideColor(!t.Sell))
		}
	}
}

// arrow is a placed arrow whose text is still to come.
type arrow struct {
	Mark
	text string
}

func (l *layout) arrow(pane, x int, value float64, k look) {
	s := float64(l.s)
	m := Mark{Shape: ArrowDown, Pane: pane, X: l.xs[x], Radius: float64(arrowHalf * s), Color: l.sideColor(k.up)}
	if k.gold {
		m.Color = l.theme.warn
	}
	direction := -1.0
	if k.up {
		m.Shape, direction = ArrowUp, 1
	}
	m.Y = l.anchor(pane, x, value, k.up) + float64(direction*arrowOffset*s)
	m.Y = l.keepInPane(m.Y, pane, direction)
	for range 3 { // a second arrow at the same bar stands behind the first
		if !l.arrowAt(&m) {
			break
		}
		m.Y += float64(direction * arrowPitch * s)
	}
	m.Y = l.keepInPane(m.Y, pane, direction)
	l.Marks = append(l.Marks, m)
	l.arrows = append(l.arrows, arrow{m, k.text})
	l.boxes = append(l.boxes, arrowBox(&m, s))
}

// anchor returns the device y an arrow points at: the end of the bar's wick over
// the price, the value itself in a panel.
func (l *layout) anchor(pane, x int, value float64, up bool) float64 {
	a := &l.Panes[pane].axis
	if pane > 0 {
		return a.y(value)
	}
	_, high, low, _, ok := l.merge(l.Columns.column(x))
	switch {
	case !ok:
		return a.y(value)
	case up:
		return a.y(low)
	}
	return a.y(high)
}

func (l *layout) keepInPane(y float64, pane int, direction float64) float64 {
	p := &l.Panes[pane]
	length := float64((arrowHeight + 1) * float64(l.s))
	if direction > 0 {
		return min(y, float64(p.Rect.Y1)-length)
	}
	legend := p.Rect.Y0 + (panelBaseline+legendFoot)*l.s
	if pane == 0 {
		legend = l.legendEnd(l.rows)
	}
	return max(y, float64(legend)+length)
}

// arrowAt reports whether an arrow of the same direction already has its place.
func (l *layout) arrowAt(m *Mark) bool {
	for i := len(l.arrows) - 1; i >= 0 && i >= len(l.arrows)-64; i-- {
		o := &l.arrows[i]
		if o.Shape == m.Shape && o.Pane == m.Pane && math.Abs(o.X-m.X) < 1 && math.Abs(o.Y-m.Y) < float64(arrowHeight*float64(l.s)) {
			return true
		}
	}
	return false
}

func arrowBox(m *Mark, s float64) Rect {
	top, bottom := m.Y, m.Y+float64(arrowHeight*s)
	if m.Shape == ArrowDown {
		top, bottom = m.Y-float64(arrowHeight*s), m.Y
	}
	return Rect{
		int(math.Floor(m.X - m.Radius)), int(math.Floor(top)),
		int(math.Ceil(m.X + m.Radius)), int(math.Ceil(bottom)),
	}
}

// arrowText writes the text of an arrow, unless it would lie on another text or
// another arrow or leave the pane.
func (l *layout) arrowText(a *arrow) {
	if a.text == "" || l.texts == maxText {
		return
	}
	s := float64(l.s)
	w := l.measure(a.text, SmallBold, l.s)
	box := arrowBox(&a.Mark, s)
	baseline := box.Y1 + (5+capHeight)*l.s
	if a.Shape == ArrowDown {
		baseline = box.Y0 - 5*l.s
	}
	label := Label{X: math.Floor(a.X - w/2 + 0.5), Width: w, Baseline: baseline, Text: a.text, Face: SmallBold, Color: l.theme.readable(a.Color)}
	if l.placeText(label, a.Pane) {
		l.texts++
	}
}

// word writes the text of a signal that has no arrow beyond the end of its bar, unless
// something is written there.
func (l *layout) word(pane, x int, value float64, k look) {
	if l.texts == maxText {
		return
	}
	baseline := int(l.anchor(pane, x, value, !k.over))
	if k.over {
		baseline -= wordGap * l.s
	} else {
		baseline += (wordGap + capHeight) * l.s
	}
	w := l.measure(k.text, SmallBold, l.s)
	label := Label{X: math.Floor(l.xs[x] - w/2 + 0.5), Width: w, Baseline: baseline, Text: k.text, Face: SmallBold, Color: l.theme.readable(l.sideColor(k.up))}
	if l.placeText(label, pane) {
		l.texts++
	}
}

// textBox is the ground a label needs: its capitals and a margin.
func (l *layout) textBox(t *Label) Rect {
	return Rect{
		int(math.Floor(t.X)) - 3*l.s, t.Baseline - (capHeight+3)*l.s,
		int(math.Ceil(t.X+t.Width)) + 3*l.s, t.Baseline + 4*l.s,
	}
}

// placeText adds a label on a backing, if nothing is written there and it fits
// the pane.
func (l *layout) placeText(t Label, pane int) bool {
	box := l.textBox(&t)
	if !box.inside(l.Panes[pane].Rect) || slices.ContainsFunc(l.boxes, box.overlaps) {
		return false
	}
	l.boxes = append(l.boxes, box)
	l.Backings = append(l.Backings, Box{box, pane, l.theme.background}) // bars would shine through anything less
	l.Labels = append(l.Labels, t)
	return true
}

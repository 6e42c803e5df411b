package chart

import "candela/lib/chart/raster"

const pillRadius = 2.5

// painter draws a scene, from the back to the front.
type painter struct {
	*Scene
	*pixels
	theme *theme
	pane  int // the one that drawing is clipped to
}

const unclipped = -1

func (s *Scene) paint(on *pixels) {
	p := painter{Scene: s, pixels: on, theme: &themes[s.Theme], pane: unclipped}
	p.boxes(s.Grid)
	p.boxes(s.Profile)
	p.fills()
	p.rules(s.Rules)
	p.boxes(s.Volume)
	if s.Columns.narrow(s.Scale) {
		p.strokes(s.Lines)
		p.candles()
	} else {
		p.candles()
		p.strokes(s.Lines)
	}
	p.marks(s.Dots)
	p.strokes(s.Divs)
	p.marks(s.Marks)
	p.strokes(s.Drawings)
	p.figures(s.Figures)
	p.rules(s.Levels)
	p.rule(&s.Last)
	p.clipTo(unclipped)
	p.boxes(s.Borders)
	p.boxes(s.Backings)
	p.figures(s.Tables)
	p.clipTo(unclipped)
	p.pills()
	for i := range s.Labels {
		p.Label(&s.Labels[i])
	}
}

// rest lets other work go before.
func (p *painter) rest() {
	if p.Pause != nil {
		p.Pause()
	}
}

// clipTo limits painting to a pane.
func (p *painter) clipTo(pane int) {
	if pane == p.pane {
		return
	}
	p.pane = pane
	if pane < 0 {
		p.NoClip()
		return
	}
	r := p.Panes[pane].Rect
	p.Clip(r.X0, r.Y0, r.X1, r.Y1)
}

func (p *painter) boxes(boxes []Box) {
	for i := range boxes {
		b := &boxes[i]
		p.clipTo(b.Pane)
		p.Rect(b.X0, b.Y0, b.X1, b.Y1, b.Color)
	}
}

func (p *painter) fills() {
	for _, a := range p.Fills {
		p.clipTo(a.Pane)
		xs, y1, y2 := p.Bands(a)
		p.AreaSplit(xs, y1, y2, a.Color, a.Below)
		p.rest()
	}
}

func (p *painter) rules(rules []Rule) {
	for i := range rules {
		p.rule(&rules[i])
	}
}

func (p *painter) rule(r *Rule) {
	p.clipTo(r.Pane)
	p.HLine(r.X0, r.X1, r.Y, r.Thick, r.Color, raster.Dash{On: float64(r.On), Off: float64(r.Off)})
}

func (p *painter) candles() {
	p.clipTo(0)
	for i := range p.Candles {
		c := &p.Candles[i]
		p.Rect(c.Wick.X0, c.Wick.Y0, c.Wick.X1, c.Wick.Y1, c.Color)
		p.Rect(c.Body.X0, c.Body.Y0, c.Body.X1, c.Body.Y1, c.Color)
		if s := p.Scale; c.Hollow && c.Body.height() > 2*s {
			inside := c.Color.Alpha(formingBody).Over(p.theme.background)
			p.Rect(c.Body.X0+s, c.Body.Y0+s, c.Body.X1-s, c.Body.Y1-s, inside)
		}
	}
}

func (p *painter) strokes(strokes []Stroke) {
	for _, k := range strokes {
		p.clipTo(k.Pane)
		xs, ys := p.Points(k)
		p.Polyline(xs, ys, k.Width, k.Color, raster.Dash{On: k.On, Off: k.Off})
		p.rest()
	}
}

func (p *painter) marks(marks []Mark) {
	for i := range marks {
		m := &marks[i]
		p.clipTo(m.Pane)
		height := float64(arrowHeight / arrowHalf * m.Radius)
		switch m.Shape {
		case Dot:
			if m.Halo > 0 {
				p.Circle(m.X, m.Y, m.Halo, p.theme.background)
			}
			p.Circle(m.X, m.Y, m.Radius, m.Color)
		case ArrowUp:
			p.Triangle(m.X, m.Y, m.X-m.Radius, m.Y+height, m.X+m.Radius, m.Y+height, m.Color)
		case ArrowDown:
			p.Triangle(m.X, m.Y, m.X-m.Radius, m.Y-height, m.X+m.Radius, m.Y-height, m.Color)
		}
	}
}

func (p *painter) pills() {
	r := float64(pillRadius * float64(p.Scale))
	for i := range p.Pills {
		k := &p.Pills[i]
		p.RoundRect(float64(k.X0), float64(k.Y0), float64(k.X1), float64(k.Y1), r, k.Color)
		p.Label(&k.Label)
		p.Label(&k.Name)
	}
}

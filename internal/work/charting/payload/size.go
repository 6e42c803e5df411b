package payload

import "candela/lib/ta"

// pointBytes is about how much a point of a shape takes in an answer.
const pointBytes = 24

// DrawnBytes returns about how many bytes what scripts have drawn takes in an answer.
func (c *Chart) DrawnBytes() (size int) {
	for i := range c.Indicators {
		size += drawnBytes(c.Indicators[i].Result)
	}
	return size
}

// drawnBytes returns about how many bytes the texts and points of a script take in an answer.
func drawnBytes(r *ta.Result) (size int) {
	if r == nil || r.Drawn == nil {
		return 0
	}
	d := r.Drawn
	for i := range d.Marks {
		size += len(d.Marks[i].Text)
	}
	for i := range d.Shapes {
		s := &d.Shapes[i]
		size += len(s.Text) + len(s.Tooltip) + len(s.Points)*pointBytes
	}
	for i := range d.Tables {
		for k := range d.Tables[i].Cells {
			c := &d.Tables[i].Cells[k]
			size += len(c.Text) + len(c.Tooltip)
		}
	}
	for i := range d.Alerts {
		size += len(d.Alerts[i].Text)
	}
	return size + drawnBytes(d.Over)
}

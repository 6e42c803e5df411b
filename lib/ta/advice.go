package ta

import (
	"fmt"
	"strings"

	"candela/lib/pattern"
)

// fixedLengths is the advice about parameters of an indicator that has none.
func (d *Def) fixedLengths() string {
	if d.Name != "ema_stack" {
		return ""
	}
	return `; its lengths are always 8, 21, 50 and 200; one average of another length is {"name":"ema","length":100}`
}

// valueSignal matches signals that name a value, such as below_30.
var valueSignal = pattern.Of(`^(?i:.*_)?(below|under|lt|less|above|over|gt|greater)(?:_than)?_?(\d+(?:\.\d+)?)$`)

// zone returns the signals closest to one that names a value: entering the zone below
// or above a level.
func (d *Def) zone(label string) (near []string, advice string) {
	match := valueSignal().FindStringSubmatch(strings.ToLower(label))
	if match == nil {
		return nil, ""
	}
	side, op := "overbought_enter", ">"
	switch match[1] {
	case "below", "under", "lt", "less":
		side, op = "oversold_enter", "<"
	}
	for _, own := range d.Labels() {
		if strings.HasSuffix(own, side) {
			near = append(near, own)
		}
	}
	return near, fmt.Sprintf(`; a signal is not a value: for its value use {"value":{"indicator":"%s","op":"%s","value":%s}}`, d.Name, op, match[2])
}

// meanings describes the condition of each of an indicator's signals.
func (d *Def) meanings() string {
	all := make([]string, len(d.Signals))
	for i, t := range d.Signals {
		all[i] = t.Label + ": " + strings.TrimSuffix(t.Sentence(), ".")
	}
	return strings.Join(all, "; ")
}

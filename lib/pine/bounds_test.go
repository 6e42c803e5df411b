package pine_test

import (
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// TestDrawings_AreBounded has scripts that draw more than an answer carries, and others that draw as much as it does.
func TestDrawings_AreBounded(t *testing.T) {
	t.Parallel()
	const labels = "if barstate.islast\n    for i = 0 to 99\n        label.new(bar_index - i, close, str.repeat(\"x\", %N))\n"
	const tips = "if barstate.islast\n    for i = 0 to 99\n        label.new(bar_index - i, close, \"x\", tooltip = str.repeat(\"x\", %N))\n"
	const paths = "if barstate.islast\n    for k = 0 to 9\n        p = array.new<chart.point>()\n        for i = 0 to %N\n            p.push(chart.point.from_index(bar_index - i, close))\n        polyline.new(p)\n"
	const cells = "if barstate.islast\n    for k = 0 to 1\n        t = table.new(position.top_left, %N, 100)\n        for i = 0 to %N - 1\n            for j = 0 to 99\n                t.cell(i, j, \"x\")\n"
	const marks = "plotshape(true, text = \"%N\")\n"
	const alerts = "alert(str.repeat(\"x\", %N))\n"
	for name, c := range map[string]struct{ body, fits, less string }{
		"texts of labels": {labels, "5000", "6000"}, "tooltips": {tips, "5000", "6000"}, "points": {paths, "999", "1001"},
		"cells": {cells, "50", "51"}, "alerts": {alerts, "30000", "40000"},
		"marks": {marks, strings.Repeat("m", 4000), strings.Repeat("m", 5000)},
	} {
		for _, n := range []string{c.fits, c.less} {
			source := "//@version=6\nindicator(\"t\", overlay = true, max_labels_count = 500)\n" + strings.ReplaceAll(c.body, "%N", n) + "plot(1)\n"
			r := compiled(t, source, "").Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: bars(120)})
			p := r.Drawn.Problem
			switch {
			case n == c.fits && p != nil:
				t.Errorf("%s of %s: %+v", name, n, p)
			case n == c.less && (p == nil || p.Code != "pine_drawings" || len(r.Drawn.Shapes)+len(r.Drawn.Tables)+len(r.Drawn.Alerts) > 0):
				t.Errorf("%s of %s: %+v, want pine_drawings and nothing drawn", name, n, p)
			}
		}
	}
}

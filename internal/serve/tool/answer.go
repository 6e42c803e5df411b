package tool

import (
	"encoding/base64"

	"candela/internal/serve/mcp"
	"candela/internal/work/charting/payload"
	"candela/lib/fault"
	"candela/lib/ta"
)

// MaxAnswer bounds one answer of any tool: its texts, pictures and structured content. The largest
// picture has about 4 MB.
const MaxAnswer = 8 << 20

// bounded returns the result of a tool, or an error in place of one that is too large.
func bounded(name string, r mcp.Result) (mcp.Result, error) {
	size := len(r.Structured)
	for i := range r.Content {
		c := &r.Content[i]
		size += len(c.Text) + base64.StdEncoding.EncodedLen(len(c.Image)) + len(c.Meta)
	}
	if size <= MaxAnswer {
		return r, nil
	}
	if r.OnSent != nil {
		r.OnSent(false)
	}
	return mcp.Result{}, tooLarge(name, size)
}

// tooLarge is the error in place of an answer of so many bytes.
func tooLarge(name string, size int) error {
	advice := "ask for a smaller part"
	switch name {
	case "generate_chart":
		advice = "ask for format summary, for fewer bars or indicators, for a smaller picture, or for a script that draws fewer and shorter texts"
	case "get_indicators":
		advice = "ask for fewer indicators at a time"
	case "run_backtest", "test_alert", "scan_symbols", "get_report":
		advice = "ask for fewer bars, symbols or variants, or for one part of the report with get_report"
	}
	return fault.New(fault.Invalid, "answer_too_large", "the answer of %s would have %d MiB, and an answer has at most %d MiB; %s", name, (size+1<<20-1)>>20, MaxAnswer>>20, advice)
}

// pointBytes is about how much a point of a shape takes in an answer.
const pointBytes = 24

// checkDrawn refuses a chart whose scripts have drawn more than an answer can hold, before it is
// written.
func checkDrawn(name string, shown *payload.Chart) error {
	size := 0
	for i := range shown.Indicators {
		size += drawnBytes(shown.Indicators[i].Result)
	}
	if size > MaxAnswer {
		return tooLarge(name, size)
	}
	return nil
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

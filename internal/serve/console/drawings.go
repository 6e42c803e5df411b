package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/work/drawings"
	"candela/lib/fault"
	"candela/lib/market"
)

// Drawings are what the owner and agents have drawn on charts.
type Drawings interface {
	List(ctx context.Context, caller principal.Caller, symbol market.Symbol) ([]drawings.Listed, error)
	Set(ctx context.Context, caller principal.Caller, symbol market.Symbol, d drawings.Drawing) (drawings.Drawing, market.Symbol, error)
	Delete(ctx context.Context, caller principal.Caller, symbol market.Symbol, id string) (drawings.Drawing, market.Symbol, error)
}

// The paths of what is drawn, under /console.
const (
	drawingsPath = "/drawings.json"
	drawPath     = "/drawings/set"
	erasePath    = "/drawings/remove"
)

// drawingActs keep and remove drawings. Nothing follows from one, so nothing asks before it.
func drawingActs() []act {
	return []act{
		{path: drawPath, asks: withoutAsking, do: (*Console).draw},
		{path: erasePath, asks: withoutAsking, do: (*Console).erase},
	}
}

var errNoDrawings = fault.New(fault.Unsupported, "no_drawings", "Drawings are kept with --trade only.")

// serveDrawings answers GET /console/drawings.json with the drawings on a symbol.
func (c *Console) serveDrawings(v *visit) {
	var answer struct {
		Symbol   string             `json:"symbol"`
		Drawings []drawings.Drawing `json:"drawings"`
		Most     int                `json:"most"`
	}
	symbol, err := market.ParseSymbol(v.r.URL.Query().Get("symbol"))
	if c.cfg.Drawings == nil {
		err = errNoDrawings
	}
	if err == nil {
		var listed []drawings.Listed
		if listed, err = c.cfg.Drawings.List(v.ctx(), v.caller(), symbol); err == nil {
			answer.Symbol, answer.Drawings, answer.Most = listed[0].Symbol.String(), listed[0].Drawings, drawings.MostInSymbol
		}
	}
	if err != nil {
		c.failJSON(v, err)
		return
	}
	body, err := json.Marshal(answer)
	if err != nil {
		c.failJSON(v, err)
		return
	}
	writeJSON(v, body)
}

// failJSON answers a script with an error.
func (c *Console) failJSON(v *visit, err error) {
	v.status = statusOf(err)
	body, _ := json.Marshal(map[string]string{"message": c.public(v.ctx(), err)}) // text only
	writeJSON(v, body)
}

func writeJSON(v *visit, body []byte) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(v.status)
	_, _ = v.w.Write(body) // the browser may have left
}

// draw keeps a drawing as a form has it: in the place of the one with its id, else as a new one.
func (c *Console) draw(v *visit) (done, error) {
	d := drawings.Drawing{ID: v.r.PostFormValue("id"), Type: v.r.PostFormValue("type"), Text: strings.TrimSpace(v.r.PostFormValue("text"))}
	for name, to := range map[string]*decimal.Decimal{"price": &d.Price, "price2": &d.Price2} {
		if text := v.r.PostFormValue(name); text != "" {
			price, err := readPrice(name, text)
			if err != nil {
				return done{}, err
			}
			*to = price
		}
	}
	for name, to := range map[string]*int64{"time": &d.Time, "time2": &d.Time2} {
		if text := v.r.PostFormValue(name); text != "" {
			at, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return done{}, fault.Field(name, fault.Clean(text, 40), "a number of seconds since 1970")
			}
			*to = at
		}
	}
	return c.onDrawings(v, func(symbol market.Symbol) error {
		_, _, err := c.cfg.Drawings.Set(v.ctx(), v.caller(), symbol, d)
		return err
	})
}

// erase removes a drawing.
func (c *Console) erase(v *visit) (done, error) {
	return c.onDrawings(v, func(symbol market.Symbol) error {
		_, _, err := c.cfg.Drawings.Delete(v.ctx(), v.caller(), symbol, v.r.PostFormValue("id"))
		return err
	})
}

// onDrawings changes the drawings on the symbol of a form, and goes on to those there are, or to the chart where no
// script asks.
func (c *Console) onDrawings(v *visit, do func(market.Symbol) error) (done, error) {
	if c.cfg.Drawings == nil {
		return done{}, errNoDrawings
	}
	symbol, err := market.ParseSymbol(strings.TrimSpace(v.r.PostFormValue("symbol")))
	if err == nil {
		err = do(symbol)
	}
	if err != nil {
		return done{}, err
	}
	if v.wantsJSON() {
		return done{To: drawingsPath + "?" + url.Values{"symbol": {symbol.String()}}.Encode()}, nil
	}
	return done{To: chartPath(symbol)}, nil
}

// wantsJSON reports whether a script asks, which reads the reason of a failure.
func (v *visit) wantsJSON() bool {
	return v.r.Method != http.MethodGet && v.r.Header.Get("Accept") == "application/json"
}

// chartPath is where the chart of a symbol is, under /console.
func chartPath(s market.Symbol) string { return "/chart/" + url.PathEscape(s.String()) }

// readPrice reads a price that somebody entered: digits and a point.
func readPrice(name, text string) (decimal.Decimal, error) {
	text = strings.TrimSpace(text)
	price, err := decimal.NewFromString(text)
	if err != nil || len(text) > 30 || strings.Trim(text, "0123456789.") != "" || !price.IsPositive() {
		return price, fault.Field(name, fault.Clean(text, 40), "a number above 0, written with a point, such as 47000.5")
	}
	return price, nil
}

// drawnRow is a drawing as the list beside a chart shows it.
type drawnRow struct{ ID, Name, By, Text string }

// addDrawings adds the drawings on a symbol, newest first.
func (c *Console) addDrawings(v *visit, d *chartData, symbol market.Symbol) {
	if c.cfg.Drawings == nil {
		return
	}
	listed, err := c.cfg.Drawings.List(v.ctx(), v.caller(), symbol)
	if err != nil {
		return // the page is good without them, and says elsewhere what is wrong with the symbol
	}
	d.Draws = true
	for i := len(listed[0].Drawings) - 1; i >= 0; i-- {
		one := &listed[0].Drawings[i]
		row := drawnRow{ID: one.ID, Name: drawnName(one.Type), By: one.By, Text: one.Text}
		if row.By == v.caller().Client {
			row.By = "you"
		}
		if d.Drawn = append(d.Drawn, row); len(d.Drawn) == chartRows {
			return
		}
	}
}

// drawnName is what people call a type of drawings.
func drawnName(kind string) string {
	switch kind {
	case "line":
		return "Trend line"
	case "box":
		return "Rectangle"
	case "fib":
		return "Fibonacci"
	}
	return upperFirst(kind)
}

// drawTool is a button of the toolbar; Alt and its key choose it.
type drawTool struct{ Kind, Name, Icon, Key string }

func drawTools() []drawTool {
	return []drawTool{
		{"", "Select", "select", "S"},
		{"line", "Trend line", "line", "T"},
		{"ray", "Ray", "ray", "R"},
		{"level", "Level", "level", "H"},
		{"box", "Rectangle", "box", "B"},
		{"fib", "Fibonacci retracement", "fib", "F"},
		{"text", "Text", "text", "X"},
		{"measure", "Measure", "measure", "M"},
	}
}

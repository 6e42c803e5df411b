package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/serve/webchart"
	"candela/internal/trading/order"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

func hasCharts(p Ports) bool { return p.Charts != nil }

// chartPage shows a symbol's bars with what the account has there. Without script or without
// the library it shows the picture that agents get.
func chartPage() page {
	return page{
		path: "/chart", name: "chart", title: "Chart", icon: "chart", key: "c", tab: "Chart", live: "state orders list positions alerts",
		needs: hasCharts, data: (*Console).chartData,
	}
}

// symbolPage is the chart at an address of its own for each symbol.
func symbolPage() page {
	p := chartPage()
	p.path, p.icon, p.key, p.tab = "/chart/{symbol}", "", "", ""
	return p
}

// chartIntervals are those with a button; the address may name any other.
func chartIntervals() []string { return []string{"5m", "15m", "1h", "4h", "1d"} }

const (
	chartIndicators = "bollinger_bands,ema_stack,rsi,macd"
	chartBars       = 400
)

type chartData struct {
	Symbol, Name, Interval, Indicators string
	Intervals                          []chartInterval
	Picture                            string // address
	Fallbacks                          []fallback
	Query                              string // of the data
	Interactive                        bool
	Credit                             bool
	Position                           *positionRow
	Asks, Open, Fills                  []orderRow
	Alerts                             []alertRow
	Problem                            string
	Known                              []Known       // symbols to choose from
	Choices                            []chartChoice // that are drawn
	Groups                             []choiceGroup // of the others
	Chosen                             int           // of Choices

	Tools []drawTool // of the toolbar
	Draws bool       // drawings are kept
	Drawn []drawnRow

	Last, Day, DayClass string  // the price, and how it moved since the day before
	Before              float64 // close of the day before; 0 if unknown
}

type chartInterval struct {
	Name, To string
	Current  bool
	Small    bool // not on phones
}

func (c *Console) chartData(v *visit) (any, error) {
	q := v.r.URL.Query()
	d := chartData{
		Symbol:      fault.Clean(cmp.Or(v.r.PathValue("symbol"), strings.TrimSpace(q.Get("symbol")), c.firstSymbol(v)), 40),
		Interval:    fault.Clean(cmp.Or(q.Get("interval"), "1h"), 8),
		Indicators:  fault.Clean(chosenIndicators(q), 400),
		Interactive: webchart.Library() != nil,
	}
	d.Credit = d.Interactive
	d.addChoices()
	if c.cfg.Market != nil {
		d.Known = c.cfg.Market.Known(v.ctx())
	}
	query := url.Values{"symbol": {d.Symbol}, "interval": {d.Interval}, "indicators": {d.Indicators}}
	d.Query = query.Encode()
	d.addFallbacks(query, v.prefs.Theme)
	query.Set("theme", cmp.Or(v.prefs.Theme, "dark"))
	d.Picture = Root + "/chart.png?" + query.Encode()
	for i, name := range chartIntervals() {
		to := url.Values{"interval": {name}, "symbol": {d.Symbol}, "indicators": {d.Indicators}}
		d.Intervals = append(d.Intervals, chartInterval{Name: name, To: Root + "/chart?" + to.Encode(), Current: name == d.Interval, Small: i == 0})
	}
	symbol, err := market.ParseSymbol(d.Symbol)
	if err != nil {
		d.Name = "Sample data"
		if d.Symbol != "" {
			d.Problem = c.public(v.ctx(), err)
		}
		return d, nil
	}
	d.Name = symbol.Name
	c.addDay(v, &d, symbol)
	c.addAccount(v, &d, symbol)
	c.addDrawings(v, &d, symbol)
	d.Tools = drawTools()
	return d, nil
}

// addDay adds the price and its change of the day, if they come soon.
func (c *Console) addDay(v *visit, d *chartData, symbol market.Symbol) {
	if c.cfg.Market == nil {
		return
	}
	ctx, cancel := context.WithTimeout(v.ctx(), quoteWithin)
	defer cancel()
	before, last, err := c.cfg.Market.Day(ctx, symbol)
	if err != nil || before <= 0 {
		return // the page is good without it
	}
	f, change := v.format(), decimal.NewFromFloat((last/before-1)*100).Round(2)
	d.Before, d.Last = before, f.Px(decimal.NewFromFloat(last))
	d.Day, d.DayClass = f.Percent(change), f.Class(change)
}

// chosenIndicators returns the indicators that an address asks for: a list, or the boxes of the
// form.
func chosenIndicators(q url.Values) string {
	if q.Has("chosen") {
		names := slices.Clone(q["indicator"])
		for i := range names[:min(len(names), charting.MaxIndicators)] {
			names[i] = withSettings(names[i], q)
		}
		return strings.Join(names, ",")
	}
	return cmp.Or(q.Get("indicators"), chartIndicators)
}

// firstSymbol is what the page shows without a symbol: what is held, ordered or waited for.
func (c *Console) firstSymbol(v *visit) string {
	if c.cfg.Account != nil {
		if held, err := c.cfg.Account.Positions(v.ctx(), v.caller()); err == nil && len(held) > 0 {
			return held[0].Symbol.String()
		}
		if open, err := c.cfg.Account.Orders(v.ctx(), v.caller(), true); err == nil && len(open) > 0 {
			return open[0].Symbol.String()
		}
	}
	if c.cfg.Alerts != nil {
		if all, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller()); err == nil && len(all) > 0 {
			return all[0].Symbol.String()
		}
	}
	return ""
}

// addAccount adds what the account has in a symbol.
func (c *Console) addAccount(v *visit, d *chartData, symbol market.Symbol) {
	same := func(s market.Symbol) bool {
		return s.Name == symbol.Name && (symbol.Venue == "" || s.Venue == "" || s.Venue == symbol.Venue)
	}
	f := v.format()
	if c.cfg.Account != nil {
		held, err := c.positions(v)
		if err != nil {
			d.Problem = c.public(v.ctx(), err)
		}
		if i := slices.IndexFunc(held.Rows, func(r positionRow) bool { return same(r.Full) }); i >= 0 {
			d.Position = &held.Rows[i]
		}
		all, err := c.cfg.Account.Orders(v.ctx(), v.caller(), false)
		if err != nil {
			d.Problem = c.public(v.ctx(), err)
		}
		for _, o := range all {
			if same(o.Symbol) {
				row := newOrderRow(o, f, held.prices())
				row.Grip = gripOf(o, d.Position, f)
				d.addOrder(o, row, f)
			}
		}
	}
	if c.cfg.Alerts == nil {
		return
	}
	alerts, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller())
	if err != nil {
		d.Problem = c.public(v.ctx(), err)
	}
	for i := range alerts {
		if (same(alerts[i].Symbol) || same(alerts[i].Instrument)) && len(d.Alerts) < chartRows {
			d.Alerts = append(d.Alerts, c.alertRow(&alerts[i], f))
		}
	}
}

// chartRows bounds each list beside the chart.
const chartRows = 12

func (d *chartData) addOrder(o order.Order, row orderRow, f format) {
	switch {
	case o.Status == order.PendingApproval:
		d.Asks = append(d.Asks, row)
	case !o.Status.Final() && len(d.Open) < chartRows:
		d.Open = append(d.Open, row)
	case o.Status.Final() && o.Filled.IsPositive() && f.days(o.Updated) == 0 && len(d.Fills) < chartRows:
		d.Fills = append(d.Fills, row)
	}
}

// serveChart answers GET /console/chart.json and /console/chart.png with what generate_chart
// returns to the owner.
func (c *Console) serveChart(v *visit) {
	if c.cfg.Charts == nil {
		http.Error(v.w, "Not found.", http.StatusNotFound)
		return
	}
	picture := strings.HasSuffix(v.r.URL.Path, ".png")
	var body []byte
	q, err := chartQuery(c.cfg.Charts, v.r.URL.Query(), picture)
	if err == nil {
		body, err = c.cfg.Charts.Chart(v.ctx(), v.caller(), q)
	}
	kind := "application/json"
	if picture && err == nil {
		kind = "image/png"
	}
	if err != nil {
		v.status = statusOf(err)
		body, _ = json.Marshal(map[string]string{"message": c.public(v.ctx(), err)}) // text only
	}
	h := v.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding")
	if packed, ok := gzipFor(v.r, body); ok && !picture {
		h.Set("Content-Encoding", "gzip")
		body = packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	v.w.WriteHeader(v.status)
	_, _ = v.w.Write(body) // the browser may have left
}

// pictureSize is a size of the picture that stands in for the interactive chart, in logical pixels, and how wide the
// page is at most that shows it.
type pictureSize struct{ page, width, height, scale, bars int }

// pictureSizes has the smallest first. The last one is for every page.
func pictureSizes() []pictureSize {
	return []pictureSize{{480, 390, 520, 2, 70}, {760, 640, 560, 2, 110}, {1000, 960, 600, 1, 140}, {0, chart.DefaultWidth, chart.DefaultHeight, 1, 160}}
}

// fallback is a picture for pages of a width and theme.
type fallback struct{ Media, Address string }

// addFallbacks lists the pictures for pages that are narrow or light. A page whose owner chose no theme has that of the
// machine.
func (d *chartData) addFallbacks(query url.Values, chosen string) {
	for _, size := range pictureSizes() {
		for _, theme := range []string{"light", "dark"} {
			var media []string
			if size.page > 0 {
				media = append(media, fmt.Sprintf("(max-width:%dpx)", size.page))
			}
			if chosen == "" {
				media = append(media, "(prefers-color-scheme:"+theme+")")
			}
			if len(media) == 0 || chosen != "" && theme != chosen {
				continue
			}
			q := url.Values{"symbol": query["symbol"], "interval": query["interval"], "indicators": query["indicators"], "theme": {theme}}
			for name, value := range map[string]int{"width": size.width, "height": size.height, "scale": size.scale, "bars": size.bars} {
				q.Set(name, strconv.Itoa(value))
			}
			d.Fallbacks = append(d.Fallbacks, fallback{strings.Join(media, " and "), Root + "/chart.png?" + q.Encode()})
		}
	}
}

// readSize reads the size of a picture; the chart says what is wrong with it.
func readSize(q *charting.Drawn, values url.Values) {
	for name, field := range map[string]*int{"width": &q.Width, "height": &q.Height, "scale": &q.Scale} {
		if n, err := strconv.Atoi(values.Get(name)); err == nil {
			*field = n
		}
	}
}

// chartQuery reads the chart that an address asks for.
func chartQuery(charts Charts, values url.Values, picture bool) (q charting.Drawn, err error) {
	q = charting.Drawn{Request: charting.Request{Bars: chartBars}, Width: chart.DefaultWidth, Height: chart.DefaultHeight, Scale: 1, Format: cmp.Or(values.Get("format"), charting.Scene)}
	if s := values.Get("symbol"); s != "" {
		if q.Symbol, err = market.ParseSymbol(s); err != nil {
			return q, err
		}
	}
	if q.Interval, err = market.ParseInterval(cmp.Or(values.Get("interval"), "1h")); err != nil {
		return q, err
	}
	if q.Indicators, err = charts.Indicators(splitIndicators(values.Get("indicators"))); err != nil {
		return q, err
	}
	if picture {
		q.Format, q.Bars, q.Saved = charting.PNG, 160, true
		readSize(&q, values)
		themes, theme := []string{"dark", "light"}, cmp.Or(values.Get("theme"), "dark")
		switch slices.IndexFunc(themes, func(t string) bool { return strings.EqualFold(t, theme) }) {
		case 0:
		case 1:
			q.Theme = chart.Light
		default:
			return q, fault.Field("theme", strconv.Quote(fault.Truncate(theme, 80)), strings.Join(themes, ", "), fault.Nearest(theme, themes)...)
		}
	}
	if n, wrong := strconv.Atoi(values.Get("bars")); wrong == nil {
		q.Bars = n
	}
	if q.Bars < 1 || q.Bars > chart.MaxBars {
		return q, fault.Field("bars", strconv.Itoa(q.Bars), fmt.Sprintf("a whole number from 1 to %d", chart.MaxBars), strconv.Itoa(min(max(q.Bars, 1), chart.MaxBars)))
	}
	return q, nil
}

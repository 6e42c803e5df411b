package tool

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/picture/payload"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// drawingKinds lists the types of drawings by chart.DrawingKind, with the keys that each
// needs besides its type; a text is also a label for the others.
//
//nolint:gochecknoglobals // a table, never written
var drawingKinds = [...]drawingKind{
	chart.LevelDrawing: {"level", []string{"price"}},
	chart.LineDrawing:  {"line", []string{"time", "price", "time2", "price2"}},
	chart.RayDrawing:   {"ray", []string{"time", "price", "time2", "price2"}},
	chart.BoxDrawing:   {"box", []string{"time", "price", "time2", "price2"}},
	chart.FibDrawing:   {"fib", []string{"time", "price", "time2", "price2"}},
	chart.TextDrawing:  {"text", []string{"time", "price", "text"}},
}

type drawingKind struct {
	name  string
	needs []string
}

// maxDrawingText is the number of characters of a text.
const maxDrawingText = 80

// drawing is a drawing as the client described it.
type drawing struct {
	kind          chart.DrawingKind
	field         string // such as drawings[2], for errors
	time, time2   drawnTime
	price, price2 decimal.Decimal
	text          string
}

// drawnTime is a moment, or with sample data, which has no times, the number of a bar.
type drawnTime struct {
	unix int64
	bar  int // if unix is 0
}

// drawingsArg is a list of objects, each with a type and the keys that it needs.
func drawingsArg(dst *[]drawing, doc string) arg {
	const name, allowed = "drawings", `a list of objects such as {"type":"level","price":65000}`
	_, keys := declareDrawing()
	item := keys.schema()
	item.AdditionalProperties = nil // the error about another key says more
	s := &schema{Type: "array", Description: doc, Items: item, MaxItems: chart.MaxDrawings}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) ([]drawing, error) {
		if raw[0] != '[' {
			return nil, mistyped(name, raw, allowed)
		}
		var all []drawing
		for item := range strictjson.Items(raw) {
			if len(all) == chart.MaxDrawings {
				most := strconv.Itoa(chart.MaxDrawings)
				return nil, fault.Field(name, "more than "+most+" items", "at most "+most+" drawings")
			}
			field := name + "[" + strconv.Itoa(len(all)) + "]"
			d, err := readDrawing(item)
			if err != nil {
				return nil, within(err, field)
			}
			d.field = field
			all = append(all, d)
		}
		return all, nil
	})
}

// drawingKeys holds the keys of a drawing and which of them were given.
type drawingKeys struct {
	drawing
	name  string
	given [5]bool // time, price, time2, price2, text
}

func declareDrawing() (*drawingKeys, args) {
	k := new(drawingKeys)
	names := make([]string, len(drawingKinds))
	for i := range drawingKinds {
		names[i] = drawingKinds[i].name
	}
	return k, args{
		enumArg("type", &k.name, "", names...).require(),
		drawnTimeArg("time", &k.time).note(&k.given[0]),
		priceArg("price", &k.price, &k.given[1], "").require(),
		drawnTimeArg("time2", &k.time2).note(&k.given[2]),
		priceArg("price2", &k.price2, &k.given[3], ""),
		noteArg("text", &k.text, maxDrawingText, "").note(&k.given[4]),
	}
}

// drawnTimeArg is a moment, or "#12" for a bar of sample data.
func drawnTimeArg(name string, dst *drawnTime) arg {
	const allowed = momentAllowed + `, or with sample data the number of a bar such as "#12"`
	return newArg(name, dst, allowed, &schema{Type: "string"}, func(raw json.RawMessage) (t drawnTime, err error) {
		value, ok := strictjson.Text(raw)
		if number, isBar := strings.CutPrefix(value, "#"); isBar {
			t.bar, err = strconv.Atoi(number)
			ok = err == nil && t.bar >= 0 && t.bar <= maxBarNumber
		} else if ok {
			t.unix, ok = parseMoment(value, 0)
		}
		if !ok {
			return t, fault.Field(name, quoteValue(raw), allowed)
		}
		return t, nil
	})
}

// maxBarNumber bounds the bar that a drawing names: more than a chart has, to draw ahead.
const maxBarNumber = 2 * chart.MaxBars

// readDrawing reads one object. Its errors name the key.
func readDrawing(raw json.RawMessage) (drawing, error) {
	if raw[0] != '{' {
		return drawing{}, noObject("", raw, `an object such as {"type":"level","price":65000}`)
	}
	k, keys := declareDrawing()
	if err := keys.decode(raw); err != nil {
		return drawing{}, err
	}
	kind := slices.IndexFunc(drawingKinds[:], func(each drawingKind) bool { return each.name == k.name })
	k.kind = chart.DrawingKind(kind) //nolint:gosec // there are a few
	if err := k.check(&drawingKinds[kind], keys); err != nil {
		return drawing{}, err
	}
	return k.drawing, nil
}

// check rejects a drawing that lacks a key of its type or has one of another type.
func (k *drawingKeys) check(kind *drawingKind, keys args) error {
	all := "type, " + strings.Join(kind.needs, ", ")
	for i, key := range [...]string{"time", "price", "time2", "price2", "text"} {
		needed := slices.Contains(kind.needs, key)
		switch {
		case needed && !k.given[i]:
			allowed := keys[keys.find(key)].allowed
			return fault.Missing(key, allowed+"; "+kind.name+" has "+all)
		case !needed && k.given[i] && key != "text":
			return fault.Field(key, k.value(key), "no "+key+" with type "+kind.name+", which has "+all)
		}
	}
	if k.kind == chart.RayDrawing && k.time2.unix <= k.time.unix && k.time2.bar <= k.time.bar {
		return fault.Field("time2", k.time2.String(), "a time after time, "+k.time.String()+": a ray goes on to the right")
	}
	return nil
}

// value returns what was given for a key, for errors.
func (k *drawingKeys) value(key string) string {
	switch key {
	case "time":
		return k.time.String()
	case "time2":
		return k.time2.String()
	case "price2":
		return k.price2.String()
	}
	return ""
}

// String returns the time as a client writes it.
func (t drawnTime) String() string {
	if t.unix == 0 {
		return "#" + strconv.Itoa(t.bar)
	}
	return unixText(t.unix)
}

// within puts the path of an object in front of the field that an error names.
func within(err error, path string) error {
	e := fault.Of(err)
	if e == nil {
		return err
	}
	inner := *e
	if e.Field == "" {
		inner.Field, inner.Message = path, path+e.Message
		return &inner
	}
	inner.Field = path + "." + e.Field
	if rest, ok := strings.CutPrefix(e.Message, e.Field); ok {
		inner.Message = inner.Field + rest
	} else {
		inner.Message = path + ": " + e.Message
	}
	return &inner
}

// place finds the bars of the drawings and adds them to the chart data.
func place(all []drawing, shown *payload.Chart) ([]chart.Drawing, error) {
	placed := make([]chart.Drawing, len(all))
	for i := range all {
		d := &all[i]
		c := chart.Drawing{Kind: d.kind, Y: d.price.InexactFloat64(), Y2: d.price2.InexactFloat64(), Text: d.text}
		p := payload.Drawing{Type: drawingKinds[d.kind].name, T: d.time.unix, Y: c.Y, T2: d.time2.unix, Y2: c.Y2, Text: d.text}
		needs := drawingKinds[d.kind].needs
		p.Timed, p.Second = slices.Contains(needs, "time"), slices.Contains(needs, "time2")
		var err error
		if p.Timed {
			c.X, err = d.time.barOf(shown, d.field+".time")
		}
		if p.Second && err == nil {
			c.X2, err = d.time2.barOf(shown, d.field+".time2")
		}
		if err != nil {
			return nil, err
		}
		if d.kind == chart.FibDrawing {
			for _, level := range chart.Retracements(c.Y, c.Y2) {
				p.Levels = append(p.Levels, payload.Level{Ratio: level.Ratio, Price: level.Price})
			}
		}
		p.X, p.X2 = c.X, c.X2
		placed[i], shown.Drawings = c, append(shown.Drawings, p)
	}
	return placed, nil
}

// barOf returns the bar of the chart at a time: the one that holds it, or the last one
// before it if the market was closed. Outside the bars it counts those that the calendar
// has, so that a line keeps its slope.
func (t drawnTime) barOf(shown *payload.Chart, field string) (int, error) {
	sample := shown.Source == payload.Sample
	switch {
	case sample && t.unix != 0:
		return 0, fault.Field(field, t.String(), `the number of a bar such as "#12", because sample data has no dates, or give a symbol`)
	case sample:
		return t.bar, nil
	case t.unix == 0:
		return 0, fault.Field(field, t.String(), momentAllowed)
	}
	bars := shown.Bars
	last := bars.Len() - 1
	switch first, newest := bars.T[0], bars.T[last]; {
	case t.unix < first:
		return -barsBetween(shown, t.unix+1, first+1), nil
	case t.unix > newest:
		return last + barsBetween(shown, newest+1, t.unix+1), nil
	}
	return bars.Search(t.unix+1) - 1, nil
}

// barsBetween counts the bars that open from one time to another by the calendar, and
// estimates those more than a year away: counting them may take long.
func barsBetween(shown *payload.Chart, from, to int64) int {
	const year = 365 * 86400
	near := min(to-from, year)
	span := market.Span{Open: to - near, Close: to}
	if from > shown.Bars.T[shown.Bars.Len()-1] { // ahead of the bars: the near part comes first
		span = market.Span{Open: from, Close: from + near}
	}
	n := shown.Calendar.Count(shown.Interval, span)
	return n + int(math.Round(float64(to-from-near)/year*shown.Calendar.PerYear(shown.Interval)))
}

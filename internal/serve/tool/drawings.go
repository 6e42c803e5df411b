package tool

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/internal/work/charting"
	"candela/internal/work/wording"
	"candela/lib/chart"
	"candela/lib/fault"
)

// maxDrawingText is the number of characters of a text.
const maxDrawingText = 80

// drawingsArg is a list of objects, each with a type and the keys that it needs.
func drawingsArg(dst *[]charting.Drawing, doc string) arg {
	const name, allowed = "drawings", `a list of objects such as {"type":"level","price":65000}`
	_, keys := declareDrawing()
	item := keys.schema()
	item.AdditionalProperties = nil // the error about another key says more
	s := &schema{Type: "array", Description: doc, Items: item}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) ([]charting.Drawing, error) {
		if raw[0] != '[' {
			return nil, mistyped(name, raw, allowed)
		}
		var all []charting.Drawing
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
			d.Field = field
			all = append(all, d)
		}
		return all, nil
	})
}

// drawingKeys holds the keys of a drawing and which of them were given.
type drawingKeys struct {
	charting.Drawing
	name  string
	given [5]bool // time, price, time2, price2, text
}

func declareDrawing() (*drawingKeys, args) {
	k := new(drawingKeys)
	kinds := charting.DrawingKinds()
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].Name
	}
	return k, args{
		enumArg("type", &k.name, "", names...).require(),
		drawnTimeArg("time", &k.Time).note(&k.given[0]),
		priceArg("price", &k.Price, &k.given[1], "").require(),
		drawnTimeArg("time2", &k.Time2).note(&k.given[2]),
		priceArg("price2", &k.Price2, &k.given[3], ""),
		noteArg("text", &k.Text, maxDrawingText, "").note(&k.given[4]),
	}
}

// drawnTimeArg is a moment, or "#12" for a bar of sample data.
func drawnTimeArg(name string, dst *charting.DrawnTime) arg {
	const allowed = charting.MomentAllowed + `, or with sample data the number of a bar such as "#12"`
	return newArg(name, dst, allowed, &schema{Type: "string"}, func(raw json.RawMessage) (t charting.DrawnTime, err error) {
		value, ok := strictjson.Text(raw)
		if number, isBar := strings.CutPrefix(value, "#"); isBar {
			t.Bar, err = strconv.Atoi(number)
			ok = err == nil && t.Bar >= 0 && t.Bar <= maxBarNumber
		} else if ok {
			t.Unix, ok = charting.ParseMoment(value, 0)
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
func readDrawing(raw json.RawMessage) (charting.Drawing, error) {
	if raw[0] != '{' {
		return charting.Drawing{}, wording.NoObject("", raw, `an object such as {"type":"level","price":65000}`)
	}
	k, keys := declareDrawing()
	if err := keys.decode(raw); err != nil {
		return charting.Drawing{}, err
	}
	kinds := charting.DrawingKinds()
	kind := slices.IndexFunc(kinds, func(each charting.DrawingKind) bool { return each.Name == k.name })
	k.Kind = chart.DrawingKind(kind) //nolint:gosec // there are a few
	if err := k.check(&kinds[kind], keys); err != nil {
		return charting.Drawing{}, err
	}
	return k.Drawing, nil
}

// check rejects a drawing that lacks a key of its type or has one of another type.
func (k *drawingKeys) check(kind *charting.DrawingKind, keys args) error {
	all := "type, " + strings.Join(kind.Needs, ", ")
	for i, key := range [...]string{"time", "price", "time2", "price2", "text"} {
		needed := slices.Contains(kind.Needs, key)
		switch {
		case needed && !k.given[i]:
			allowed := keys[keys.find(key)].allowed
			return fault.Missing(key, allowed+"; "+kind.Name+" has "+all)
		case !needed && k.given[i] && key != "text":
			return fault.Field(key, k.value(key), "no "+key+" with type "+kind.Name+", which has "+all)
		}
	}
	if k.Kind == chart.RayDrawing && k.Time2.Unix <= k.Time.Unix && k.Time2.Bar <= k.Time.Bar {
		return fault.Field("time2", k.Time2.String(), "a time after time, "+k.Time.String()+": a ray goes on to the right")
	}
	return nil
}

// value returns what was given for a key, for errors.
func (k *drawingKeys) value(key string) string {
	switch key {
	case "time":
		return k.Time.String()
	case "time2":
		return k.Time2.String()
	case "price2":
		return k.Price2.String()
	}
	return ""
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

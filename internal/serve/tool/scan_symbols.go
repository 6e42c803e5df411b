package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/work/research"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Bounds of the arguments of a scan.
const (
	mostColumns = 6
	mostWithin  = 100
	scanSeconds = 45
)

// scanArgs are the arguments of scan_symbols.
type scanArgs struct {
	research.Scan
	condition json.RawMessage
	waiting   waiting
}

func (c *charts) declareScan() (*scanArgs, args) {
	r := &scanArgs{Scan: research.Scan{Order: "desc", Limit: 20, Seconds: scanSeconds}, waiting: waiting{-1}}
	r.Library, r.Interval, r.Within = c.library, market.Hour4, 1
	return r, append(args{
		listArg("symbols", &r.Symbols, research.MostScanned, &schema{Type: "string"}, "symbols such as BTCUSDT or AAPL", "1 to 500 instruments.", market.ParseSymbol).require(),
		intervalArg(&r.Interval, "").describe("As in generate_chart."),
		rawArg("condition", &r.condition).typed(&schema{Type: "object", Description: "A condition of set_alert on closed bars. Without one every symbol is shown with its columns."}),
		intArg("within_bars", &r.Within, 1, mostWithin, "It may hold at any of so many newest closed bars."),
		columnsArg(c.library, &r.Columns),
		stringArg("rank_by", &r.RankBy, 80, "A column. Default: the first."),
		enumArg("order", &r.Order, "", "desc", "asc"),
		limitArg(&r.Limit, 100, "Rows."),
		intArg("max_seconds", &r.Seconds, 1, 600, "Then what was read is answered."),
	}, r.waiting.args()...)
}

// typed gives an argument that is read later its schema.
func (f arg) typed(s *schema) arg {
	f.schema = s
	return f
}

const columnExample = `["close","rsi",{"indicator":"macd","line":"Histogram"}]`

// columnsArg is a list of values to show: a price, the name of an indicator, or an object
// that names one of its lines.
func columnsArg(l ta.Library, dst *[]research.Column) arg {
	allowed := "a list of at most " + strconv.Itoa(mostColumns) + " values such as " + columnExample
	s := &schema{
		Type: "array", Items: &schema{AnyOf: []*schema{{Type: "string"}, {Type: "object"}}},
		Description: "Values to show: prices, indicators with one line, or objects as in a value condition. Such as " + columnExample + ".",
	}
	return newArg("columns", dst, allowed, s, func(raw json.RawMessage) ([]research.Column, error) {
		if raw[0] != '[' {
			return nil, noList("columns", raw, allowed)
		}
		var all []research.Column
		for item := range strictjson.Items(raw) {
			c, err := readColumn(l, item)
			switch {
			case err != nil:
				return nil, err
			case len(all) == mostColumns:
				return nil, fault.Field("columns", "more than "+strconv.Itoa(mostColumns)+" values", allowed)
			case slices.ContainsFunc(all, func(o research.Column) bool { return o.Name == c.Name }):
				return nil, fault.Field("columns", c.Name, "each value once")
			}
			all = append(all, c)
		}
		return all, nil
	})
}

func readColumn(l ta.Library, item json.RawMessage) (research.Column, error) {
	const at = "columns"
	if text, ok := strictjson.Text(item); ok {
		if slices.Contains(alert.Prices(), text) {
			return research.Column{Name: text, Operand: alert.Operand{Price: text}}, nil
		}
		item = json.RawMessage(`{"indicator":` + quote(text) + `}`)
	}
	if item[0] != '{' {
		return research.Column{}, fault.Field(at, quoteValue(item), "values such as "+columnExample)
	}
	read := side{at: at}
	if err := decodeAt(at, item, (&conditionReader{library: l}).sideArgs(&read)...); err != nil {
		return research.Column{}, err
	}
	operand, err := read.operand()
	if err != nil {
		return research.Column{}, err
	}
	name := operand.Price
	if read.entry.selection != nil {
		name = read.entry.name
		if operand.Params != "" {
			name = read.entry.selection.Label()
		}
		if operand.Line != "" {
			name += " " + operand.Line
		}
	}
	return research.Column{Name: name, Operand: operand}, nil
}

func (c *charts) scanSymbols() toolSpec {
	return toolSpec{
		name: "scan_symbols", title: "Scan symbols", scope: principal.Charts, set: ResearchSet, long: true,
		description: "Which of up to 500 symbols meet a condition of set_alert at their last closed bar, with values to compare them by. " +
			"complete is false when some could not be read or judged; failed and skipped name them: say so. About 60 tokens a row.",
		hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(c.declareScan, func(ctx context.Context, caller principal.Caller, r *scanArgs) (mcp.Result, error) {
			return c.long(ctx, caller, r.waiting, r.ask)
		}),
	}
}

// ask asks for the scan of the arguments.
func (r *scanArgs) ask(ctx context.Context, of *research.Research, caller principal.Caller) (*research.Answer, error) {
	if err := r.read(); err != nil {
		return nil, err
	}
	return of.Scan(ctx, caller, r.Scan)
}

// read reads the condition and checks what can be checked without bars.
func (r *scanArgs) read() error {
	if err := r.CheckSymbols(); err != nil {
		return err
	}
	if r.condition == nil && len(r.Columns) == 0 {
		return fault.Missing("condition", `a condition such as {"value":`+wording.ValueExample+`}, or columns to show`)
	}
	if r.condition != nil {
		condition, err := readBarCondition(r.Library, "condition", r.condition)
		if err != nil {
			return err
		}
		r.Condition = &condition
	}
	return r.Check()
}

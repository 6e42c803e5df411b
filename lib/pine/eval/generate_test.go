package eval_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"candela/lib/pine/check"
)

// hostilePrelude makes the large values that the calls of made scripts take.
const hostilePrelude = `var S = str.repeat("ab", 20000)
var T = "a,b,1.5"
var P = "(a|b|ab)*c?"
var AF = array.new<float>(30000, 1.5)
var AS = array.new<string>(500, S)
var AI = array.new<int>(2000, 3)
var AB = array.new<bool>(1000, true)
var AC = array.new<color>(1000, color.red)
var M = matrix.new<float>(40, 40, 0.5)
var W = matrix.new<float>(200, 100, 1.0)
var MS = map.new<string, float>()
var MI = map.new<int, int>()
var L = line.new(0, 1, 2, 3)
var L2 = line.new(0, 2, 2, 4)
var LB = label.new(0, 1, "x")
var BX = box.new(0, 2, 2, 1)
var TB = table.new(position.top_left, 50, 50)
var AP = array.new<chart.point>(2000, chart.point.from_index(0, 1))
var PL = polyline.new(AP)
var LF = linefill.new(L, L2, color.red)
MS.put(str.tostring(bar_index), close)
MI.put(bar_index, bar_index)
`

// argumentPool are the arguments by what they are, the large and the odd ones among them.
func argumentPool() map[string][]string {
	return map[string][]string{
		"number": {"close", "math.sin(bar_index)", "-bar_index", "1e9", "-1.5", "0.0", "1e300", "high - low", "AF.get(7)"},
		"int":    {"0", "1", "7", "50", "4000", "5000", "40000", "100000", "-1", "bar_index", "bar_index % 30 + 1", "1000000000"},
		"text":   {"S", "T", "P", "\"a\"", "\"\"", "S + \"\"", "\"{0} {1,number,#.##}\"", "\"00000.####\"", "\"UTC+3\"", "\"America/New_York\"", "\"0930-1600\"", "\"D\"", "\"60\"", "syminfo.tickerid"},
		"bool":   {"true", "false", "close > open", "barstate.islast"},
		"color":  {"color.red", "color.new(color.blue, 50)"},
		"array":  {"AF", "AS", "AI", "AB", "AC", "AP", "AF.slice(10, 20000)"},
		"matrix": {"M", "W", "M.copy()"}, "map": {"MS", "MI"},
		"line": {"L", "L2"}, "label": {"LB"}, "box": {"BX"}, "table": {"TB"}, "linefill": {"LF"}, "polyline": {"PL"},
		"point": {"chart.point.now(close)", "chart.point.from_index(bar_index, 1)"},
		"named": {
			"order.descending", "strategy.long", "extend.both", "position.top_left", "size.huge", "xloc.bar_time", "yloc.abovebar", "line.style_dotted",
			"label.style_none", "text.align_left", "barmerge.gaps_on", "alert.freq_all", "format.percent",
		},
	}
}

// kindOfArgument guesses from the names of a function and a parameter what the argument is.
func kindOfArgument(function, parameter string) string {
	family, _, _ := strings.Cut(function, ".")
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(parameter, w) })
	}
	switch {
	case parameter == "id" || parameter == "id1" || parameter == "id2":
		return family
	case has("point"):
		return "point"
	case has("color"):
		return "color"
	case has("length", "len", "num", "index", "from", "to", "row", "col", "size", "width", "offset", "left", "right", "bars", "occurrence", "time"):
		return "int"
	case has("str", "text", "format", "regex", "target", "message", "title", "comment", "separator", "replacement", "zone", "session", "frame", "id", "name", "oca"):
		return "text"
	case has("condition", "cond", "biased", "when"):
		return "bool"
	}
	return "number"
}

// generator makes scripts of calls that compile with the prelude.
type generator struct {
	r     *rand.Rand
	pool  map[string][]string
	kinds []string
	calls map[string][]string // of each function, calls that compile
	names []string
}

// newGenerator finds calls of every built-in function that the checker takes.
func newGenerator(seed uint64, tries int) *generator {
	g := &generator{r: rand.New(rand.NewPCG(seed, 77)), pool: argumentPool(), calls: map[string][]string{}}
	for kind := range g.pool {
		g.kinds = append(g.kinds, kind)
	}
	slices.Sort(g.kinds)
	for _, n := range check.Names() {
		if n.Kind != "function" || n.Support != check.Supported || strings.HasPrefix(n.Name, "input") || n.Name == "indicator" || n.Name == "library" || n.Name == "strategy" || n.Name == "runtime.error" {
			continue
		}
		for range tries {
			if call := g.call(n); g.compiles(call) {
				g.calls[n.Name] = append(g.calls[n.Name], call)
			}
		}
		if len(g.calls[n.Name]) > 0 {
			g.names = append(g.names, n.Name)
		}
	}
	return g
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// call writes a call with the arguments that must be there, and sometimes one more.
func (g *generator) call(n check.Name) string {
	form := pick(g.r, n.Forms)
	_, list, _ := strings.Cut(strings.TrimSuffix(form, ")"), "(")
	var args []string
	for p := range strings.SplitSeq(list, ", ") {
		optional := strings.HasSuffix(p, "?")
		if p == "" || optional && g.r.IntN(4) > 0 {
			continue
		}
		many := strings.HasSuffix(p, "...")
		name := strings.TrimRight(p, "?.")
		kind := kindOfArgument(n.Name, name)
		if g.r.IntN(3) == 0 || g.pool[kind] == nil {
			kind = pick(g.r, g.kinds)
		}
		switch value := pick(g.r, g.pool[kind]); {
		case optional:
			args = append(args, name+" = "+value)
		case many:
			args = append(args, value, value, value)
		default:
			args = append(args, value)
		}
	}
	generic := ""
	switch n.Name {
	case "array.new", "matrix.new":
		generic = "<float>"
	case "map.new":
		generic = "<string, int>"
	}
	return n.Name + generic + "(" + strings.Join(args, ", ") + ")"
}

func hostileHead(name string) string {
	if strings.HasPrefix(name, "strategy.") {
		return "//@version=6\nstrategy(\"t\", pyramiding = 1000)\n"
	}
	return "//@version=6\nindicator(\"t\", max_labels_count = 500, max_lines_count = 500, max_boxes_count = 500, max_polylines_count = 100)\n"
}

func (g *generator) compiles(call string) bool {
	p, _ := check.Check(hostileHead(call)+hostilePrelude+call+"\n", check.Options{})
	return p != nil
}

// script writes a script: some calls, plain, in loops, in loops within loops, in a function or on the last bar.
func (g *generator) script() string {
	var b strings.Builder
	calls := make([]string, 1+g.r.IntN(4))
	orders := false
	for i := range calls {
		name := pick(g.r, g.names)
		calls[i] = pick(g.r, g.calls[name])
		orders = orders || strings.HasPrefix(name, "strategy.")
	}
	head := ""
	if orders {
		head = "strategy."
	}
	b.WriteString(hostileHead(head) + hostilePrelude)
	turns := func() string { return pick(g.r, []string{"9", "99", "5000", "1000000"}) }
	indent, shape := "", g.r.IntN(8)
	switch shape {
	case 0, 1, 2:
		fmt.Fprintf(&b, "for i = 0 to %s\n", turns())
		indent = "    "
	case 3:
		fmt.Fprintf(&b, "for i = 0 to %s\n    for j = 0 to %s\n", turns(), turns())
		indent = "        "
	case 4:
		b.WriteString("while true\n")
		indent = "    "
	case 5:
		b.WriteString("for e in AF\n")
		indent = "    "
	case 6:
		b.WriteString("if barstate.islast or bar_index == 3\n")
		indent = "    "
	}
	for _, c := range calls {
		b.WriteString(indent + c + "\n")
	}
	b.WriteString("plot(close)\n")
	return b.String()
}

package convert

import "strings"

// NewName returns what versions 5 and 6 call a name of versions up to 4, empty if it is no such name.
func NewName(name string) string {
	switch name {
	case "study":
		return "indicator"
	case "security":
		return "request.security"
	case "financial", "quandl", "splits", "dividends", "earnings":
		return "request." + name
	case "tostring", "tonumber":
		return "str." + name
	case "iff":
		return "condition ? a : b"
	case "offset":
		return "source[offset]"
	case "rsi", "sma", "ema", "rma", "wma", "vwma", "swma", "hma", "alma", "linreg", "stoch", "cci", "mfi", "macd", "bb", "bbw", "kc", "kcw", "atr", "tr", "sar", "supertrend", "dmi", "mom", "roc", "change", "cross", "crossover", "crossunder", "highest", "highestbars", "lowest", "lowestbars", "pivothigh", "pivotlow", "rising", "falling", "barssince", "valuewhen", "cum", "correlation", "dev", "stdev", "variance", "median", "mode", "range", "percentile_linear_interpolation", "percentile_nearest_rank", "percentrank", "cmo", "cog", "tsi", "wpr", "vwap", "obv", "accdist", "iii", "nvi", "pvi", "pvt", "wad", "wvad":
		return "ta." + name
	case "abs", "acos", "asin", "atan", "avg", "ceil", "cos", "exp", "floor", "log", "log10", "max", "min", "pow", "random", "round", "round_to_mintick", "sign", "sin", "sqrt", "sum", "tan", "todegrees", "toradians":
		return "math." + name
	case "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday":
		return "dayofweek." + name
	case "n":
		return "bar_index"
	case "tickerid":
		return "syminfo.tickerid"
	case "ticker":
		return "syminfo.ticker"
	case "period":
		return "timeframe.period"
	case "interval":
		return "timeframe.multiplier"
	case "isdaily", "isintraday", "isweekly", "ismonthly", "isdwm":
		return "timeframe." + name
	case "heikinashi", "renko", "kagi", "linebreak", "pointfigure":
		return "ticker." + name
	case "aqua", "black", "blue", "fuchsia", "gray", "green", "lime", "maroon", "navy", "olive", "orange", "purple", "red", "silver", "teal", "white", "yellow":
		return "color." + name
	case "area", "areabr", "circles", "columns", "histogram", "linebr", "stepline":
		return "plot.style_" + name
	}
	return ""
}

// parameters returns the parameters of a function of version 4 in their order, where it differs
// from that of version 5.
func parameters(function string) []string {
	const order = " qty limit stop oca_name oca_type comment when alert_message"
	list := map[string]string{
		"study":          "title shorttitle overlay format precision scale max_bars_back max_lines_count max_labels_count timeframe timeframe_gaps max_boxes_count",
		"plot":           "series title color linewidth style trackprice transp histbase offset join editable show_last display",
		"plotshape":      "series title style location color transp offset text textcolor editable size show_last display",
		"plotchar":       "series title char location color transp offset text textcolor editable size show_last display",
		"plotarrow":      "series title colorup colordown transp offset minheight maxheight editable show_last display",
		"bgcolor":        "color transp offset editable show_last title display",
		"fill":           "hline1 hline2 color transp title editable show_last fillgaps",
		"input":          "defval title type minval maxval confirm step options",
		"strategy.entry": "id direction" + order,
		"strategy.order": "id direction" + order,
		"strategy.exit":  "id from_entry qty qty_percent profit limit loss stop trail_price trail_points trail_offset oca_name comment when alert_message",
	}[function]
	return strings.Fields(list)
}

// newParameter returns the name of a parameter in version 5.
func newParameter(function, name string) string {
	switch {
	case name == "resolution":
		return "timeframe"
	case name == "resolution_gaps":
		return "timeframe_gaps"
	case name == "long" && strings.HasPrefix(function, "strategy."):
		return "direction"
	case name == "x" || name == "y":
		return map[string]string{
			"nz.x": "source", "nz.y": "replacement", "fixnan.x": "source", "cross.x": "source1", "cross.y": "source2", "crossover.x": "source1", "crossover.y": "source2",
			"crossunder.x": "source1", "crossunder.y": "source2", "tostring.x": "value", "tostring.y": "format", "rsi.x": "source", "rsi.y": "length", "abs.x": "number", "round.x": "number",
		}[function+"."+name]
	}
	return ""
}

// inputFunction returns the function of version 5 that asks for an input of a type.
func inputFunction(kind string) string {
	switch kind = strings.TrimPrefix(kind, "input."); kind {
	case "integer":
		return "input.int"
	case "resolution":
		return "input.timeframe"
	case "bool", "float", "string", "symbol", "session", "source", "color", "time", "price":
		return "input." + kind
	}
	return ""
}

// plotStyles are the styles of a plot by the numbers that version 3 also takes.
func plotStyles() []string {
	return []string{"line", "stepline", "histogram", "cross", "area", "columns", "circles"}
}

// styleOf returns the name of a style that version 3 writes without its namespace.
func styleOf(function, name string) string {
	switch function {
	case "plot":
		switch name {
		case "line", "stepline", "histogram", "cross", "area", "columns", "circles", "linebr", "areabr":
			return "plot.style_" + name
		case "solid":
			return "plot.style_line"
		}
	case "hline":
		switch name {
		case "dashed", "dotted", "solid":
			return "hline.style_" + name
		case "line":
			return "hline.style_solid"
		}
	}
	return ""
}

// newMember returns the name of version 5 of a dotted name that has changed.
func newMember(name string) string {
	switch name {
	case "label.style_labelup", "label.style_labeldown", "label.style_labelleft", "label.style_labelright", "label.style_labelcenter":
		return strings.Replace(name, "style_label", "style_label_", 1)
	}
	return ""
}

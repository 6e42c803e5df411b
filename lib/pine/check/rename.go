package check

import (
	"slices"
	"strings"

	"candela/lib/pine/syntax"
)

// olderName returns the fix for a name of versions up to 4, empty if it is none.
func (c *checker) olderName(name string) string {
	if young := newerName(name); young != "" {
		return "Write " + young + "."
	}
	return ""
}

// newerName returns what versions 5 and 6 call a name of versions up to 4.
func newerName(name string) string {
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

// renames lists the newer names of what an older script uses.
func renames(file *syntax.File) string {
	var out []string
	syntax.Walk(file.Stmts, func(x syntax.Expr) bool {
		name := ""
		switch x := x.(type) {
		case *syntax.Ident:
			name = x.Name
		case *syntax.Member:
			return false
		}
		if young := newerName(name); young != "" && len(out) < 12 {
			if pair := name + " is " + young; !slices.Contains(out, pair) {
				out = append(out, pair)
			}
		}
		return true
	})
	if len(out) == 0 {
		return ""
	}
	return " Names that have changed: " + strings.Join(out, ", ") + "."
}

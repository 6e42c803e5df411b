package check

import "testing"

// TestCheck_TakesWhatPublishedScriptsWrite has forms that the manual does not name and that scripts which TradingView
// publishes use.
func TestCheck_TakesWhatPublishedScriptsWrite(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"gradient between levels":          "a = hline(1)\nb = hline(2)\nfill(a, b, 2, 1, color.red, color(na))",
		"colour of the chart for a level":  "hline(0, color = chart.fg_color)",
		"symbol of a loop to inherit":      "for s in array.from(\"A\", \"B\")\n    log.info(ticker.inherit(syminfo.tickerid, s))",
		"symbol that is made on each bar":  "s = close > open ? \"A\" : \"B\"\nt = ticker.heikinashi(ticker.standard(ticker.new(syminfo.prefix(\"X:A\"), s, session.regular)))\nlog.info(ticker.modify(t, session.extended))",
		"date of an input":                 "plot(timestamp(input.string(\"2024-01-02\", \"Date\")))",
		"fraction as an offset":            "plot(close[bar_index / 2])",
		"bars back in place of a session":  "plot(time(\"\", -5))",
		"array of na with a written type":  "array<int> a = array.from(na, na)\nplot(a.get(0))",
		"lines that end twice":             "plot(ta.sma(close,\r\r\n     3))\r\r\n",
		"text over lines that end twice":   "t = \"one\r\r\n two\"\r\r\nlog.info(t)",
		"volume of the day at this time":   "import TradingView/ta/9 as tv\n[a, b, c] = tv.relativeVolume(10, \"1D\", true, false)\nplot(a)",
		"middle of the channel, version 5": "import TradingView/ta/5 as tv\nplot(tv.donchian(20))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted(t, head+body+"\n")
		})
	}
	accepted(t, "//@version=5\nindicator(\"T\")\nx = array.new_float(1)\ny = array.new_int(1)\nz = close > open ? x : y\nplot(z.get(0) + time(\"\", -15))\n")
}

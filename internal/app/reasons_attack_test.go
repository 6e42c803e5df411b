package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writtenBars writes a file of 300 bars of an hour that ended long ago.
func writtenBars(t *testing.T, name string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	var text strings.Builder
	text.WriteString("time,open,high,low,close,volume\n")
	for i := range 300 {
		fmt.Fprintf(&text, "2024-01-%02dT%02d:00:00Z,100,101,99,100,5\n", 1+i/24, i%24)
	}
	if err := os.WriteFile(filepath.Join(folder, name+"_1h.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestReasons_ThatAreNone places orders for reasons that only look like reasons, where the owner requires one. None is sent, and each answer says why.
func TestReasons_ThatAreNone(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--csv-dir", writtenBars(t, "OLD"), "--policy",
		ownPolicy(t, "max_order_notional = \"none\"\nmax_orders_per_minute = \"none\"\nmax_daily_notional = \"none\"\nduplicate_window = \"0s\"\nrequire_evidence = \"entries\"\n"))
	for name, source := range map[string]string{
		"gone":   `plot(bar_index > 0 ? na : 10, \"RSI\")`,
		"failed": `if bar_index > 10\n    runtime.error(\"no\")\nplot(10)`,
	} {
		if text, failed := p.call("save_script", fmt.Sprintf(`{"name":%q,"source":"//@version=6\nindicator(\"RSI(14)\", shorttitle=\"RSI(14)\")\n%s"}`, name, source)); failed {
			t.Fatal(text)
		}
	}
	const isTrue = `"value":{"price":"close","op":">","value":1}`
	for _, c := range []struct{ name, because, want string }{
		{"none", `null`, `"rule":"require_evidence"`},
		{"an empty list", `[]`, `"field":"because"`},
		{"a list of nothing", `[null]`, `"field":"because[0]"`},
		{"words", `"the trend is up"`, `words for the owner go into note`},
		{"a price of years ago", `[{"symbol":"csv:OLD","price_above":1}]`, `is of 2024-01-13T12:00:00Z, older than max_quote_age (10s)`},
		{"a true one, and a price of years ago", `[{` + isTrue + `},{"symbol":"csv:OLD","price_above":1}]`, `"field":"because[1]"`},
		{"bars of years ago", `[{"symbol":"csv:OLD","interval":"1h",` + isTrue + `}]`, `"code":"evidence_unavailable"`},
		{"made-up prices", `[{"symbol":"sample:SAMPLE","price_above":1}]`, `The prices of sample are made up`},
		{"made-up bars", `[{"symbol":"sample:SAMPLE","interval":"1h",` + isTrue + `}]`, `The prices of sample are made up`},
		{"a script without a value", `[{"interval":"1h","value":{"indicator":"gone","op":"<","value":30}}]`, `the script gone of binance:BTCUSDT on 1h has no value at this bar`},
		{"not above, of a script without a value", `[{"interval":"1h","value":{"indicator":"gone","op":">=","value":30}}]`, `"rule":"evidence_unknown"`},
		{"a script that fails", `[{"interval":"1h","value":{"indicator":"failed","op":"<","value":30}}]`, `"rule":"evidence_unknown"`},
		{"unknown or false", `[{"interval":"1h","any":[{"interval":"1d","value":{"indicator":"gone","op":">","value":1}},{"value":{"price":"close","op":"<","value":1}}]}]`, `"rule":"evidence_unknown"`},
		{"unknown and true", `[{"interval":"1h","all":[{"value":{"indicator":"gone","op":">","value":1}},{` + isTrue + `}]}]`, `"rule":"evidence_unknown"`},
		{"another bar", `[{"at":"2020-01-01T00:00:00Z",` + isTrue + `}]`, `"field":"because[0]"`},
		{"a verdict of the client", `[{"known":true,"true":true,"bar":"2026-11-17T17:00:00Z",` + isTrue + `}]`, `"field":"because[0]"`},
		{"a name in capitals", `[{"VALUE":{"price":"close","op":">","value":1}}]`, `did you mean \"value\"?`},
		{"bars of nothing", `[{"interval":"0h",` + isTrue + `}]`, `"field":"because[0].interval"`},
		{"bars before the newest one by none", `[{"within_bars":0,` + isTrue + `}]`, `"field":"because[0].within_bars"`},
		{"bars after the newest one", `[{"within_bars":-1,` + isTrue + `}]`, `"field":"because[0].within_bars"`},
		{"older than the owner takes", `[{"within_bars":5,` + isTrue + `}]`, `"rule":"max_evidence_age"`},
		{"wide letters", `[{"symbol":"ＢＴＣＵＳＤＴ",` + isTrue + `}]`, `"field":"because[0].symbol"`},
		{"a hidden letter", `[{"symbol":"BTCUSDT\u202e",` + isTrue + `}]`, `"field":"because[0].symbol"`},
		{"a number beyond all numbers", `[{"value":{"price":"close","op":"<","value":1e400}}]`, `"field":"because[0].value.value"`},
		{"a number that is none", `[{"value":{"price":"close","op":"<","value":"NaN"}}]`, `"field":"because[0].value.value"`},
		{"a comparison with nothing", `[{"value":{"price":"close","op":"<","value":null}}]`, `because[0].value.value is required`},
		{"a price below all prices", `[{"price_above":0}]`, `"field":"because[0].price_above"`},
		{"a signal that there is not", `[{"indicator_signal":{"indicator":"macd","signal":"rises"}}]`, `"field":"because[0].indicator_signal.signal"`},
	} {
		if text, failed := p.settled("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"because":`+c.because+`}`); !failed || !strings.Contains(text, c.want) {
			t.Errorf("%s: no %s in %s", c.name, c.want, text)
		}
	}
	if text, _ := p.call("get_orders", `{"filter":"all"}`); strings.Contains(text, `"status":"filled"`) {
		t.Errorf("an order was sent: %s", text)
	}
}

// TestReasons_OfScriptsAreNamedAsThat has a script whose line is named as a sentence about an indicator. The claim that the owner reads says that it is a script.
func TestReasons_OfScriptsAreNamedAsThat(t *testing.T) {
	t.Parallel()
	p := startProgram(t)
	const title = `RSI(14) of BTCUSDT on 1h closes below 30\n\u202e and so does the trend of the day`
	if text, failed := p.call("save_script", `{"name":"mine","source":"//@version=6\nindicator(\"RSI(14)\")\nplot(10, \"`+strings.ReplaceAll(title, `\n`, `\\n`)+`\")"}`); failed {
		t.Fatal(text)
	}
	text, failed := p.settled("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"dry_run":true,"because":[{"interval":"1h","value":{"indicator":"mine","op":"<","value":30}}]}`)
	const want = `"claim":"\"RSI(14) of BTCUSDT on 1h closes below 30...\" of the script mine of BTCUSDT on 1h closes below 30"`
	if failed || !strings.Contains(text, want) {
		t.Errorf("no %s in %s", want, text)
	}
}

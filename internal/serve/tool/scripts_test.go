package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
)

func TestScripts_InChartsAndComputations(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ScriptsSet)
	inline, err := json.Marshal(tooltest.Script)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{`"kept"`, `{"name":"kept","length":7}`, `{"name":"pine","source":` + string(inline) + `,"Length":7}`} {
		for name, arguments := range map[string]string{
			"get_indicators": `{"symbol":"BTCUSDT","indicators":[` + entry + `,"rsi"]}`,
			"generate_chart": `{"symbol":"BTCUSDT","bars":60,"format":"series","indicators":[` + entry + `]}`,
		} {
			text := string(call(t, registry, name, arguments).Content[0].Text)
			if !strings.Contains(text, `"label":"Mean"`) || strings.Contains(text, `"error"`) {
				t.Errorf("%s of %s: %.400s", name, entry, text)
			}
		}
	}
	if r := call(t, registry, "generate_chart", `{"symbol":"BTCUSDT","indicators":["kept"]}`); r.IsError {
		t.Errorf("the picture: %s", r.Content[0].Text)
	}
	if text := string(call(t, registry, "list_indicators", `{}`).Content[0].Text); !strings.Contains(text, `"scripts":[{"name":"kept"`) {
		t.Error("list_indicators does not list the script")
	}
	if text := string(call(t, registry, "list_indicators", `{"name":"kept"}`).Content[0].Text); !strings.Contains(text, `"over_mean"`) {
		t.Errorf("the script in full: %s", text)
	}
}

func TestScripts_Tools(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ScriptsSet)
	for _, c := range []struct{ name, arguments, want string }{
		{"check_script", `{"name":"kept"}`, `{"ok":true,"title":"Kept","kind":"indicator","overlay":true,"configurable_params":[{"name":"length","type":"integer","default":5`},
		{"check_script", `{"source":"//@version=6\nindicator('x')\nplot(clos)"}`, `{"ok":false,"findings":[{"line":3,"column":6,"severity":"error"`},
		{"check_script", `{}`, "either source"},
		{"save_script", `{"name":"broken","source":"//@version=6\nindicator('x')\nplot(clos)"}`, "line 3, column 6"},
		{"save_script", `{"name":"rsi","source":"//@version=6\nindicator('x')\nplot(close)"}`, "catalogue"},
		{"save_script", `{"name":"mine","source":"//@version=6\nindicator('x')\nplot(close)"}`, `"lines":["Plot"]`},
		{"save_script", `{"name":"me/twice/1","source":"//@version=6\nlibrary('twice')\nexport twice(float x) =>\n    2 * y"}`, "line 4, column 9"},
		{"save_script", `{"name":"me/twice/1","source":"//@version=6\nindicator('x')\nplot(close)"}`, "declares no library()"},
		{"save_script", `{"name":"me/four/1","source":"//@version=6\nlibrary('four')\nimport me/twice/1\nexport four(float x) =>\n    twice.twice(twice.twice(x))"}`, "candela script add --library me/twice/1 FILE"},
		{"save_script", `{"name":"me/twice/1","source":"//@version=6\nlibrary('twice')\nexport twice(float x) =>\n    2 * x"}`, `{"name":"me/twice/1"}`},
		{"save_script", `{"name":"me/four/1","source":"//@version=6\nlibrary('four')\nimport me/twice/1\nexport four(float x) =>\n    twice.twice(twice.twice(x))"}`, `{"name":"me/four/1"}`},
		{"delete_script", `{"name":"mine"}`, `{"deleted":"mine"}`},
		{"delete_script", `{"name":"mine"}`, `unknown_script`},
		{"generate_chart", `{"symbol":"BTCUSDT","indicators":["mine"]}`, "unknown indicator"},
	} {
		if text := string(call(t, registry, c.name, c.arguments).Content[0].Text); !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %s", c.name, c.arguments, text)
		}
	}
}

// TestScripts_AnswersSayWhatWasConverted holds that a reader of values of an older script learns what was changed in it.
func TestScripts_AnswersSayWhatWasConverted(t *testing.T) {
	t.Parallel()
	registry := tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tool.ScriptsSet, tool.ResearchSet)
	const older = "//@version=4\\nstudy('Old')\\nplot(sma(close, 5), 'Mean')\\nalertcondition(crossover(close, sma(close, 5)), 'over')\\n"
	const strategy = "//@version=4\\nstrategy('Old')\\nif crossover(close, sma(close, 5))\\n    strategy.entry('L', strategy.long)\\n"
	if text := string(call(t, registry, "save_script", `{"name":"old","source":"`+older+`"}`).Content[0].Text); !strings.Contains(text, `"converted_from":4`) {
		t.Fatal(text)
	}
	const condition = `"condition":{"type":"indicator_signal","indicator":"old","signal":"over"}`
	for _, c := range []struct{ name, arguments, want string }{
		{"get_indicators", `{"symbol":"BTCUSDT","indicators":[{"name":"pine","source":"` + older + `"}]}`, "line 3, sma is ta.sma"},
		{"generate_chart", `{"symbol":"BTCUSDT","bars":60,"format":"series","indicators":["old"]}`, "line 3, sma is ta.sma"},
		{"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"script":"` + strategy + `"}`, "line 3, crossover is ta.crossover"},
		{"run_backtest", `{"symbol":"BTCUSDT","interval":"1h","bars":500,"long":{"enter":{"indicator_signal":{"indicator":"old","signal":"over"}},"max_bars":5}}`, "line 3, sma is ta.sma"},
		{"set_alert", `{"symbol":"BTCUSDT",` + condition + `}`, "line 3, sma is ta.sma"},
		{"test_alert", `{"symbol":"BTCUSDT",` + condition + `}`, "line 3, sma is ta.sma"},
	} {
		text := string(call(t, registry, c.name, c.arguments).Content[0].Text)
		if want := "The script is of version 4 and was converted to version 5: "; !strings.Contains(text, want) || !strings.Contains(text, c.want) || strings.Count(text, want) != 1 {
			t.Errorf("%s %s: %s", c.name, c.arguments, text)
		}
	}
}

package tool_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/ta"
)

const skillPage = "../../../skills/candela/SKILL.md"

// maxSkillBytes bounds what an agent reads before it begins.
const maxSkillBytes = 6 << 10

var (
	fenced = regexp.MustCompile("(?s)```\n(.*?)```\n")
	inline = regexp.MustCompile("`([^`]+)`")
)

// TestSkill_NamesExist holds every name in the skill that agents get against the tools and
// the catalogue.
func TestSkill_NamesExist(t *testing.T) {
	t.Parallel()
	page := readPage(t, skillPage)
	if len(page) > maxSkillBytes {
		t.Errorf("the skill has %d bytes, more than %d", len(page), maxSkillBytes)
	}
	known := map[string]bool{"retryable": true}
	for _, each := range tooltest.Extended(t, (&tooltest.Trading{}).Parts(), tooltest.Sets()...).Tools() {
		known[each.Name] = true
		for _, schema := range []json.RawMessage{each.InputSchema, each.OutputSchema} {
			if schema != nil {
				addNames(t, known, schema)
			}
		}
	}
	for code := range errorCodes() {
		known[code] = true
	}
	for _, d := range ta.All() {
		known[d.Name] = true
	}
	// Commands and flags are held by the tests of these pages.
	settings, trading := readPage(t, "../../../docs/configuration.md"), readPage(t, "../../../docs/trading.md")
	found := 0
	for _, span := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		name := span[1]
		switch {
		case strings.HasPrefix(name, "--"):
			known[name] = strings.Contains(settings, "`"+name+"`")
		case strings.HasPrefix(name, "candela "):
			known[name] = strings.Contains(trading, "\n"+name+" ")
		}
		if found++; !known[name] {
			t.Errorf("`%s` is not a tool, an argument, a field, a value, a code, an indicator, a flag or a command", name)
		}
	}
	if found < 30 {
		t.Errorf("only %d names were found", found)
	}
}

// TestSkill_ExamplesWork calls the tools as the skill does.
func TestSkill_ExamplesWork(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, &tooltest.Trading{})
	var called []string
	for _, block := range fenced.FindAllStringSubmatch(readPage(t, skillPage), -1) {
		for line := range strings.Lines(block[1]) {
			name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
			if result := call(t, registry, name, arguments); result.IsError {
				t.Errorf("%s%s", line, result.Content[0].Text)
			}
			called = append(called, name)
		}
	}
	slices.Sort(called)
	if got := strings.Join(slices.Compact(called), " "); got != "generate_chart get_indicators get_notifications get_orders place_order set_alert" {
		t.Errorf("the examples call %s", got)
	}
}

// TestAlertsPage_ExamplesWork sets every alert of the page about alerts.
func TestAlertsPage_ExamplesWork(t *testing.T) {
	t.Parallel()
	registry := tooltest.Registry(t, &tooltest.Trading{})
	kinds := map[string]bool{}
	for _, block := range fenced.FindAllStringSubmatch(readPage(t, "../../../docs/alerts.md"), -1) {
		for line := range strings.Lines(block[1]) {
			arguments, ok := strings.CutPrefix(strings.TrimSpace(line), "set_alert ")
			if !ok {
				continue
			}
			if result := call(t, registry, "set_alert", arguments); result.IsError {
				t.Errorf("%s%s", line, result.Content[0].Text)
			}
			for _, name := range alert.Names() {
				kinds[name] = kinds[name] || strings.Contains(arguments, `"condition":{"`+name+`"`)
			}
		}
	}
	for _, name := range []string{"price_above", "price_crosses", "value", "indicator_signal", "percent_change", "new_high", "all"} {
		if !kinds[name] {
			t.Errorf("the page has no example of %s", name)
		}
	}
}

func readPage(t *testing.T, file string) string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// addNames adds the properties and values of a schema.
func addNames(t *testing.T, known map[string]bool, schema json.RawMessage) {
	t.Helper()
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				walk(each)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			for name := range properties {
				known[name] = true
			}
			values, _ := v["enum"].([]any)
			for _, value := range values {
				if text, ok := value.(string); ok {
					known[text] = true
				}
			}
			for _, each := range v {
				walk(each)
			}
		}
	}
	walk(root)
}

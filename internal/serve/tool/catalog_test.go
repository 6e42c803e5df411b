package tool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/internal/analysis/indicator"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/tool/tooltest"
)

// catalogue is the answer of list_indicators.
type catalogue struct {
	Total  int
	Groups []struct {
		Group string
		Names []string
	}
	Indicators []struct {
		Name, Description, Type, Group string
		Overlay                        bool
		Family                         string
		Aliases, Members               []string
		Params                         []struct {
			Name, Type, Description string
			Default                 any
		} `json:"configurable_params"`
		Signals  []string
		Meanings map[string]string `json:"signal_descriptions"`
	}
}

func listIndicators(t *testing.T, arguments string) (got catalogue, size int) {
	t.Helper()
	text := call(t, tooltest.Registry(t, nil), "list_indicators", arguments).Content[0].Text
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got, len(strictjson.AppendString(nil, text))
}

func TestListIndicators_IsTheWholeCatalogue(t *testing.T) {
	t.Parallel()
	got, size := listIndicators(t, `{}`)
	// 36 KB for 150 names, entries and members.
	if most := 36_000 * len(indicator.Names()) / 150; got.Total != len(indicator.All()) || len(got.Indicators) != got.Total || size > most {
		t.Fatalf("%d of %d indicators in %d bytes, at most %d", len(got.Indicators), len(indicator.All()), size, most)
	}
	t.Logf("%d entries and %d members in %d bytes", got.Total, len(indicator.Members()), size)
	for i, d := range indicator.All() {
		item := got.Indicators[i]
		if item.Name != d.Name || item.Description == "" || item.Overlay != (item.Type == "overlay") || !slices.Equal(item.Aliases, d.Aliases) ||
			len(item.Params) != len(d.Params) || !slices.Equal(item.Signals, d.Labels()) {
			t.Errorf("%s: %+v", d.Name, item)
		}
		for _, p := range item.Params {
			if p.Default == nil && p.Type == "" {
				t.Errorf("%s: nothing shows the type of %s", d.Name, p.Name)
			}
		}
	}
}

// TestListIndicators_GroupsAndNames holds that the groups together are the catalogue, in
// full, and that a name or an alias selects one entry of it.
func TestListIndicators_GroupsAndNames(t *testing.T) {
	t.Parallel()
	brief, size := listIndicators(t, `{"brief":true}`)
	if brief.Total != len(indicator.All()) || len(brief.Groups) != len(indicator.Groups()) || brief.Indicators != nil || size > 6_000 {
		t.Errorf("brief: %d in %d groups, %d bytes", brief.Total, len(brief.Groups), size)
	}
	seen := 0
	for _, g := range brief.Groups {
		group, _ := listIndicators(t, `{"group":"`+g.Group+`"}`)
		seen += group.Total
		for i, item := range group.Indicators {
			d, err := indicator.Find(item.Name)
			if err != nil || item.Name != g.Names[i] || item.Group != g.Group || item.Description != d.Doc || len(item.Meanings) != len(item.Signals) {
				t.Errorf("%s: %+v %v", g.Group, item, err)
			}
			for _, label := range item.Signals {
				if says := item.Meanings[label]; len(says) < 20 || !strings.HasSuffix(says, ".") || strings.Contains(says, "the same") {
					t.Errorf("%s %s is explained by %q", item.Name, label, says)
				}
			}
			for _, p := range item.Params {
				if p.Type == "" || p.Description == "" {
					t.Errorf("%s: %+v", item.Name, p)
				}
			}
			for _, name := range append([]string{item.Name}, item.Aliases...) {
				if one, _ := listIndicators(t, `{"name":"`+strings.ToUpper(name)+`"}`); one.Total != 1 || one.Indicators[0].Name != item.Name {
					t.Errorf("%s selects %+v", name, one)
				}
			}
		}
	}
	for i := range indicator.Members() {
		d := &indicator.Members()[i]
		if one, _ := listIndicators(t, `{"name":"`+d.Name+`"}`); d.Name != "ema" && (one.Total != 1 || one.Indicators[0].Name != d.Name || one.Indicators[0].Family != d.Family().Name) {
			t.Errorf("%s selects %+v", d.Name, one)
		}
	}
	if seen != len(indicator.All()) {
		t.Errorf("the groups have %d of %d indicators", seen, len(indicator.All()))
	}
}

package tool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/ta"
)

// catalogue is the answer of list_indicators.
type catalogue struct {
	Total  int
	Groups []struct {
		Group string
		Names []string
		Bytes int
	}
	Indicators []catalogueItem
}

type catalogueItem struct {
	Name, Description, Type, Group string
	Overlay                        bool
	Family, Like                   string
	Aliases, Members               []string
	Params                         []struct {
		Name, Type, Description string
		Default                 any
	} `json:"configurable_params"`
	Signals  []string
	Meanings map[string]string `json:"signal_descriptions"`
}

// listIndicators returns the answer and the bytes of its text.
func listIndicators(t *testing.T, r *tool.Registry, arguments string) (got catalogue, size int) {
	t.Helper()
	text := call(t, r, "list_indicators", arguments).Content[0].Text
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got, len(text)
}

func TestListIndicators_IsTheWholeCatalogue(t *testing.T) {
	t.Parallel()
	r := tooltest.Registry(t, nil)
	got, size := listIndicators(t, r, `{}`)
	if len(got.Indicators) != got.Total || got.Total != len(ta.All()) || size > 36_864 {
		t.Fatalf("%d of %d indicators in %d bytes", len(got.Indicators), got.Total, size)
	}
	listed := 0
	for _, d := range ta.All() {
		i := slices.IndexFunc(got.Indicators, func(i catalogueItem) bool { return i.Name == d.Name })
		if i < 0 {
			t.Fatalf("%s is not listed", d.Name)
		}
		item := got.Indicators[i]
		if d.Like != "" { // its parameters and signals are those of another
			if item.Like != d.Like || item.Params != nil || item.Signals != nil {
				t.Errorf("%s: %+v", d.Name, item)
			}
			like := got.Indicators[slices.IndexFunc(got.Indicators, func(i catalogueItem) bool { return i.Name == d.Like })]
			item.Params, item.Signals = like.Params, like.Signals
		}
		if item.Description == "" || item.Overlay != (item.Type == "overlay") || item.Type != d.Kind.String() ||
			len(item.Params) != len(d.Params) || !slices.Equal(item.Signals, d.Labels()) && len(d.Members) == 0 {
			t.Errorf("%s: %+v", d.Name, item)
		}
		for k, p := range item.Params {
			if p.Name != d.Params[k].Name || p.Default == nil && p.Type == "" && p.Name != "source" {
				t.Errorf("%s: %+v", d.Name, p)
			}
		}
		listed++
		for _, m := range d.Members {
			if !slices.Contains(item.Members, m.Name) {
				t.Errorf("%s is not among the members of %s", m.Name, d.Name)
			}
			listed++
		}
	}
	if listed < 150 {
		t.Errorf("%d names", listed)
	}
	t.Logf("%d entries, %d names, %d bytes", got.Total, listed, size)
}

// TestListIndicators_GroupsAndNames holds that the groups together are the catalogue, in
// full, and that a name or an alias selects one entry of it.
func TestListIndicators_GroupsAndNames(t *testing.T) {
	t.Parallel()
	r := tooltest.Registry(t, nil)
	brief, size := listIndicators(t, r, `{"brief":true}`)
	if brief.Total != len(ta.All()) || len(brief.Groups) != len(ta.Groups()) || brief.Indicators != nil || size > 6_000 {
		t.Errorf("brief: %d in %d groups, %d bytes", brief.Total, len(brief.Groups), size)
	}
	seen := 0
	for _, g := range brief.Groups {
		group, bytes := listIndicators(t, r, `{"group":"`+g.Group+`"}`)
		if g.Bytes != bytes {
			t.Errorf("%s has %d bytes, not %d", g.Group, bytes, g.Bytes)
		}
		seen += group.Total
		for i, item := range group.Indicators {
			d, err := ta.Find(item.Name)
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
				if one, _ := listIndicators(t, r, `{"name":"`+strings.ToUpper(name)+`"}`); one.Total != 1 || one.Indicators[0].Name != item.Name {
					t.Errorf("%s selects %+v", name, one)
				}
			}
		}
	}
	for i := range ta.Members() {
		d := &ta.Members()[i]
		if one, _ := listIndicators(t, r, `{"name":"`+d.Name+`"}`); d.Name != "ema" && (one.Total != 1 || one.Indicators[0].Name != d.Name || one.Indicators[0].Family != d.Family().Name) {
			t.Errorf("%s selects %+v", d.Name, one)
		}
	}
	if seen != len(ta.All()) {
		t.Errorf("the groups have %d of %d indicators", seen, len(ta.All()))
	}
}

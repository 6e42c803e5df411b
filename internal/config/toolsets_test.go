package config

import (
	"slices"
	"strings"
	"testing"
)

func TestToolsets(t *testing.T) {
	t.Parallel()
	p := parts()
	p.Toolsets = []Toolset{{Name: "market"}, {Name: "account"}, {Name: "scripts", Reserved: true}}
	for text, want := range map[string]string{
		"": "", "market": "market", "account,market": "market,account", " market , market ": "market", "all": "market,account", "all,market": "market,account",
	} {
		c, err := Load(Input{Args: []string{"--mcp", "--toolsets", text, "--home", t.TempDir()}, Parts: p})
		if err != nil || !slices.Equal(c.Toolsets, strings.FieldsFunc(want, func(r rune) bool { return r == ',' })) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	for _, text := range []string{"scripts", "market,scripts", "nothing", "market,,account", "MARKET"} {
		_, err := Load(Input{Args: []string{"--mcp", "--toolsets", text, "--home", t.TempDir()}, Parts: p})
		if err == nil || !strings.Contains(err.Error(), "market, account, all") || !strings.Contains(err.Error(), "scripts: not available yet") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/lib/chart/raster"
)

// The charts in browsers have the colours of the pictures.
func TestThemes_AreThoseOfTheWebChart(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "serve", "webchart", "figures.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "export const themes = {")
	dark, light, _ := strings.Cut(rest, "  light: {")
	light, _, _ = strings.Cut(light, "\n}\n")
	hex := func(colors ...raster.Color) string {
		var all []string
		for _, c := range colors {
			all = append(all, fmt.Sprintf("'#%02X%02X%02X'", c.R, c.G, c.B))
		}
		return strings.Join(all, ", ")
	}
	for i, source := range []string{Dark: dark, Light: light} {
		theme := &themes[i]
		for _, want := range []string{
			"background: " + hex(theme.background), "grid: " + hex(theme.grid), "border: " + hex(theme.border),
			"text: " + hex(theme.text), "strong: " + hex(theme.strong), "muted: " + hex(theme.muted),
			"up: " + hex(theme.up), "down: " + hex(theme.down), "warn: " + hex(theme.warn),
			"histogram: [" + hex(theme.histUp, theme.histUpWeak, theme.histDown, theme.histDownWeak) + "]",
			fmt.Sprintf("volume: %.2f", theme.volume), "cycle: [" + hex(theme.cycle[:]...) + "]",
		} {
			if !strings.Contains(source, want) {
				t.Errorf("figures.mjs, %s: no %s", theme.name, want)
			}
		}
	}
}

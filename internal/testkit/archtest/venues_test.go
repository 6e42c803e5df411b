package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"

	"candela/internal/app"
)

// TestVenueNames_StayInTheirPackages holds that product code never decides by the name of
// a venue, broker or sink, and that its settings are declared in its own package: everything
// else reads the descriptors. Symbols in examples, such as binance:BTCUSDT, are allowed.
func TestVenueNames_StayInTheirPackages(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, v := range app.Venues() {
		names[v.Name] = v.Example != ""
	}
	for _, b := range app.Brokers() {
		names[b.Name] = b.CanTradeLive() // "paper" is also a trading mode
	}
	for _, s := range app.Sinks() {
		names[s.Name] = true
	}
	walkGo(t, func(file string, fset *token.FileSet, f *ast.File) {
		dir := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || testOnly(shortName(modulePath+"/"+dir)) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value) // the parser has read it
			name, _, _ := strings.Cut(text, "-")      // the name, or one of its settings
			if text == "command" {                    // also the word of command lines; the settings of the sink have more
				return true
			}
			if names[name] && path.Base(dir) != name {
				t.Errorf("%s: %q belongs into the descriptor of %s", fset.Position(literal.Pos()), text, name)
			}
			return true
		})
	})
}

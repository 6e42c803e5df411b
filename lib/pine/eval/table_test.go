package eval

import (
	"strings"
	"testing"

	"candela/lib/pine/check"
)

func TestTable_EverySupportedNameHasOneRow(t *testing.T) {
	t.Parallel()
	all := newTable()
	for _, wrong := range all.compare(check.Names()) {
		t.Error(wrong)
	}
	t.Logf("%d functions, %d variables", len(all.functions), len(all.variables))
	for name, r := range all.functions {
		plain, compiled := r.run != nil && r.cost.steps > 0, r.build != nil && r.steps != nil
		if plain == compiled {
			t.Errorf("%s has not exactly one of a function with its cost (%v) and code for each call with its cost (%v)", name, plain, compiled)
		}
	}
	for name, v := range all.variables {
		ways := 0
		for _, has := range []bool{v.price > 0, v.fixed != nil, v.every != nil, v.read != nil} {
			if has {
				ways++
			}
		}
		if ways != 1 || v.of != nil && v.fixed == nil {
			t.Errorf("%s gets its value in %d ways, want 1", name, ways)
		}
	}
}

func TestTable_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	less, more := newTable(), newTable()
	delete(less.functions, "ta.sma")
	delete(less.variables, "ta.tr")
	more.functions["math.nothing"] = replaced()
	more.variables["nothing"] = unknown()
	for want, wrong := range map[string][]string{
		"function ta.sma has a signature in lib/pine/check and no row in lib/pine/eval" +
			"\nvariable ta.tr has a signature in lib/pine/check and no row in lib/pine/eval": less.compare(check.Names()),
		"function math.nothing has a row in lib/pine/eval and no signature of a supported name in lib/pine/check" +
			"\nvariable nothing has a row in lib/pine/eval and no line of a supported name in lib/pine/check": more.compare(check.Names()),
	} {
		if got := strings.Join(wrong, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	defer func() {
		if got := recover(); got != "na has two rows in lib/pine/eval" {
			t.Errorf("two rows of a name give %v", got)
		}
	}()
	joined(functions{"na": replaced()}, functions{"na": replaced()})
}

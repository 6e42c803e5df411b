package eval_test

import (
	"errors"
	"strings"
	"testing"

	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// TestTraps_AreRefused has the scripts of trap 32 that other engines run.
func TestTraps_AreRefused(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"if close > open\n    plot(close)",
		"f() => plot(close)\nif close > open\n    f()",
		"if close > open\n    alertcondition(true, \"a\")",
		"f(x) => x > 0 ? f(x - 1) : 0\nplot(f(3))",
		"var g = 0\nf() =>\n    g := 1\n    g\nplot(f())",
	} {
		if p, _ := check.Check("//@version=6\nindicator(\"t\")\n"+source+"\n", check.Options{}); p != nil {
			t.Errorf("accepted:\n%s", source)
		}
	}
}

// TestTraps_EndlessLoopsFail is trap 33.
func TestTraps_EndlessLoopsFail(t *testing.T) {
	t.Parallel()
	m := compile(t, "//@version=6\nindicator(\"t\")\nx = 0\nwhile true\n    x += 1\nplot(x)\n", hourly())
	err := m.Keep(ramp(1)[0])
	var e *eval.Error
	if !errors.As(err, &e) || e.Code != eval.CodeSteps || e.Line < 4 || e.Bar != 0 || !strings.Contains(e.Error(), "2000000") {
		t.Errorf("got %v", err)
	}
}

package ta_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// closes is a script in the form that packages above give: it has the close as its line
// and fails at a bar.
type closes struct{ failAt int }

func (closes) Label() string                     { return "Closes" }
func (closes) Warmup(ta.Env) (first, stable int) { return 0, 1 }
func (closes) Compute(ta.Input) *ta.Result       { return &ta.Result{Label: "Closes"} }

func (c closes) Stream(e ta.Env) *ta.Stream {
	return ta.NewStream(e, 1, &closesRunner{at: c.failAt})
}

type closesRunner struct{ n, at int }

var errAtBar = errors.New("failed")

func (c *closesRunner) Step(r *ta.Row) error {
	if c.n++; c.n == c.at {
		return errAtBar
	}
	r.Values[0] = r.Bar.C
	if r.Prev[0] < r.Bar.C {
		r.Signal("rose", r.Bar.C)
	}
	return nil
}

func (c *closesRunner) Peek(r *ta.Row) error {
	was := *c
	err := c.Step(r)
	*c = was
	return err
}

func (c *closesRunner) Snapshot(dst []float64) []float64 { return append(dst, float64(c.n)) }

func (c *closesRunner) Restore(s []float64) error {
	if len(s) != 1 {
		return errors.New("another")
	}
	c.n = int(s[0])
	return nil
}

type shelf map[string]*ta.Def

func (s shelf) Script(name string) (*ta.Def, error) { return s[name], nil }
func (s shelf) Stored() []*ta.Def                   { return []*ta.Def{s["my_closes"]} }

func (s shelf) Pin(*ta.Def) error { return nil }

func (s shelf) Inline(source string) (*ta.Def, error) {
	d := closesDef()
	d.Name, d.Version = ta.InlineName, source
	return d, nil
}

func closesDef() *ta.Def {
	return &ta.Def{
		Name: "my_closes", Version: "0123456789ab", Kind: ta.Panel, Lines: []string{"Close"},
		Params:  []ta.Param{ta.Int("length", 5, 1, 9, "bars")},
		Signals: []ta.Trigger{{Label: "rose", When: "it rose"}},
		New:     func(v ta.Values) ta.Instance { return closes{v.Int("length")} },
	}
}

func library() ta.Library {
	return ta.Library{Scripts: shelf{"my_closes": closesDef(), "my_closes@0123456789ab": closesDef()}}
}

func TestLibrary_ResolvesScriptsAfterTheCatalogue(t *testing.T) {
	t.Parallel()
	l := library()
	for _, name := range []string{"my_closes", " My_Closes ", "my_closes@0123456789ab"} {
		s, err := l.Resolve(ta.Request{Name: name, Params: map[string]json.RawMessage{"length": json.RawMessage("3")}})
		if err != nil || s.Key() != "my_closes@0123456789ab(length=3)" {
			t.Errorf("%q is %v, %v", name, s, err)
		}
	}
	s, err := l.Resolve(ta.Request{Name: "pine", Params: map[string]json.RawMessage{"source": json.RawMessage(`"abc"`), "length": json.RawMessage("2")}})
	if err != nil || s.Key() != "pine@abc(length=2)" {
		t.Errorf("inline is %v, %v", s, err)
	}
	if s, err := l.Resolve(ta.Request{Name: "rsi"}); err != nil || s.Def.Version != "" {
		t.Errorf("rsi is %v, %v", s, err)
	}
	if _, err := l.Find("my_close"); fault.Of(err) == nil || len(fault.Of(err).Suggestions) == 0 || fault.Of(err).Suggestions[0] != "my_closes" {
		t.Errorf("a name like a script's has the error %v", err)
	}
	if s, err := l.ResolveAlert("my_closes"); err != nil || !s.Def.Emits("rose") {
		t.Errorf("alerts get %v, %v", s, err)
	}
}

func TestLibrary_RefusesInlineSource(t *testing.T) {
	t.Parallel()
	if _, err := ta.Resolve(ta.Request{Name: "pine"}); fault.Of(err) == nil || fault.Of(err).Code != "scripts_disabled" {
		t.Errorf("without scripts: %v", err)
	}
	for _, params := range []map[string]json.RawMessage{nil, {"source": json.RawMessage("7")}} {
		if _, err := library().Resolve(ta.Request{Name: "pine", Params: params}); fault.Of(err) == nil || fault.Of(err).Field != "pine.source" {
			t.Errorf("source %s: %v", params["source"], err)
		}
	}
}

func TestStream_OverARunner(t *testing.T) {
	t.Parallel()
	s := closes{failAt: 4}.Stream(ta.Env{Interval: market.Hour1})
	bar := func(i int) market.Bar { return market.Bar{T: int64(i) * 3600, C: float64(10 + i)} }
	s.Step(bar(0))
	if r := s.Peek(bar(5)); r.Values[0] != 15 || len(r.Signals) != 1 || r.Index != 1 {
		t.Errorf("peek gives %+v", r)
	}
	kept := s.Snapshot(nil)
	for i := range 2 {
		if r := s.Step(bar(1 + i)); r.Values[0] != float64(11+i) || r.Prev[0] != float64(10+i) || s.Err() != nil {
			t.Errorf("step %d gives %+v, %v", i, r, s.Err())
		}
	}
	for range 2 {
		if r := s.Step(bar(3)); !math.IsNaN(r.Values[0]) || len(r.Signals) > 0 || !errors.Is(s.Err(), errAtBar) {
			t.Errorf("the step that fails gives %+v, %v", r, s.Err())
		}
	}
	if err := s.Restore(kept[:2]); err == nil {
		t.Error("a shorter snapshot was taken")
	}
	if err := s.Restore(kept); err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	if r := s.Step(bar(1)); r.Values[0] != 11 || r.Index != 1 || r.Prev[0] != 10 {
		t.Errorf("after the restore a step gives %+v", r)
	}
}

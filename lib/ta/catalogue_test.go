package ta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
)

func TestCatalogue_IsComplete(t *testing.T) {
	t.Parallel()
	count := map[Kind]int{}
	for _, d := range All() {
		count[d.Kind]++
	}
	// The counts never fall.
	if count[Overlay] < 17 || count[Panel] < 17 || count[External] < 5 || len(Members()) < 15 {
		t.Errorf("at least 17 overlays, 17 panels, 5 external indicators and 15 members are offered; the list has %v and %d", count, len(Members()))
	}
	t.Logf("%d entries and %d members: %d names", len(All()), len(Members()), len(Names()))
}

// TestCatalogue_LikeIndicatorsAreAlike holds that a client that has read one entry
// can ask for the other.
func TestCatalogue_LikeIndicatorsAreAlike(t *testing.T) {
	t.Parallel()
	short := func(d *Def) string {
		params := make([]string, len(d.Params))
		for i, p := range d.Params {
			params[i] = fmt.Sprint(p.Name, p.Kind, p.Default, p.Enum)
		}
		return fmt.Sprint(d.Kind, d.Labels(), params)
	}
	for i := range All() {
		d := &All()[i]
		if d.Like == "" {
			continue
		}
		head, err := Find(d.Like)
		if err != nil {
			t.Fatal(err)
		}
		if head.Like != "" || short(d) != short(head) {
			t.Errorf("%s is not like %s:\n%s\n%s", d.Name, d.Like, short(d), short(head))
		}
	}
}

func TestCatalogue_EveryEntryIsDocumented(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	used := map[string]bool{}
	for _, d := range slices.Concat(All(), Members()) {
		for _, text := range []string{d.Doc, d.Formula, d.Truth} {
			if text == "" {
				t.Errorf("%s: doc, formula and truth must all be given", d.Name)
			}
		}
		if !slices.Contains(Groups(), d.Group) || len(d.Summary()) > 80 {
			t.Errorf("%s: group %q is not known, or the first clause of its doc has more than 80 bytes: %q", d.Name, d.Group, d.Summary())
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if other, taken := names[name]; taken && name != "ema" { // the stack without parameters, one average with them
				t.Errorf("%s and %s both answer to %q", other, d.Name, name)
			}
			names[name] = d.Name
			if name != strings.ToLower(name) {
				t.Errorf("%s: %q is not lower case", d.Name, name)
			}
		}
		for _, s := range d.Signals {
			if !slices.Contains(labels(), s.Label) || s.When == "" {
				t.Errorf("%s: signal %q is not in the registry or has no trigger", d.Name, s.Label)
			}
			used[s.Label] = true
		}
		params := map[string]bool{}
		for _, p := range d.Params {
			if p.Doc == "" {
				t.Errorf("%s: parameter %s has no text", d.Name, p.Name)
			}
			for _, name := range append([]string{p.Name}, p.Aliases...) {
				if params[name] {
					t.Errorf("%s: two parameters answer to %q", d.Name, name)
				}
				params[name] = true
			}
			if p.Default != nil {
				raw, err := json.Marshal(p.Default)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.parse(raw); err != nil {
					t.Errorf("%s: the default of %s is refused: %v", d.Name, p.Name, err)
				}
			}
		}
	}
	// Clients know these names; they stay.
	for name := range strings.FieldsSeq(knownNames) {
		if _, ok := names[name]; !ok {
			t.Errorf("%q is no longer understood", name)
		}
	}
}

// knownNames are all names and aliases that clients of this interface use.
const knownNames = `ema_stack ema bbands bollinger keltner donchian vwap vwap_bands supertrend sar parabolic_sar ichimoku
	heikin_ashi ha pivot pivot_points volume_profile vp vpvr session_vp svp session_volume_profile hvn_lvn vp_nodes volume_nodes
	naked_poc npoc tpo market_profile cipher_b macd rsi wavetrend stoch stochastic atr obv cci roc mfi williams_r willr cmf adx
	ad ad_line histvol hv kalman_volume kalman kvf rsi_mfi_stoch rsi_combo combo cvd funding funding_rate oi open_interest
	long_short ls_ratio fear_greed fng bb kc dc st psar ichi wt cipher cb`

// TestCatalogue_KnownParameters holds the parameter names and defaults clients rely on.
func TestCatalogue_KnownParameters(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"bbands": "period=20,std_dev=2,source=close", "donchian": "period=20", "supertrend": "period=10,multiplier=3",
		"sar": "af_start=0.02,af_step=0.02,af_max=0.2", "macd": "fast=12,slow=26,signal=9,source=close",
		"stoch": "period=14,k_smooth=3,d_smooth=3", "atr": "period=14", "cci": "period=20,zone_signals=false,source=hlc3", "roc": "period=14,mode=percent,source=close",
		"mfi": "period=14,zone_signals=false", "williams_r": "period=14,zone_signals=false", "cmf": "period=20", "adx": "period=14", "histvol": "period=20",
		"rsi": "length=14,overbought=70,oversold=30,show_divergences=false,zone_signals=false,source=close",
	} {
		s, err := Resolve(Request{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Values.String(); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

func TestCatalogue_ResultsAreValid(t *testing.T) {
	t.Parallel()
	for name, s := range defaults(t) {
		for _, n := range []int{0, 1, 2, 30, 700} {
			in := input(walk(n, 3), market.Hour1)
			r := s.Compute(in)
			checkResult(t, name, s, r, n)
			if s.Def.Kind != External {
				checkRange(t, name, r)
			}
			first, stable := s.Warmup(in.Env)
			if first < 0 || stable < first {
				t.Errorf("%s: warm-up first %d, stable %d", name, first, stable)
			}
			if s.Def.Kind != External && n == 700 && len(r.Lines) > 0 && !strings.Contains(name, "poc") && !strings.Contains(name, "session") {
				checkFirst(t, name, r, first)
			}
		}
	}
}

// checkFirst holds the published index of the first value against the lines.
func checkFirst(t *testing.T, name string, r *Result, first int) {
	t.Helper()
	earliest := len(r.Lines[0].Values)
	for _, l := range r.Lines {
		if l.Label == "Chikou" {
			continue // drawn back
		}
		for i, x := range l.Values {
			if x == x {
				earliest = min(earliest, i)
				break
			}
		}
	}
	if earliest > first && firstVaries(name) {
		return
	}
	if earliest != min(first, len(r.Lines[0].Values)) {
		t.Errorf("%s: first value at %d, published %d", name, earliest, first)
	}
}

// firstVaries reports whether the first value comes with the first swing, gap or period
// and not with a fixed bar: the published index is then the earliest possible.
func firstVaries(name string) bool {
	return slices.Contains([]string{
		"pivot", "prior_levels", "swings", "structure", "sweeps", "fvg", "gaps", "order_blocks", "support_resistance",
		"zigzag", "fractals", "trendlines", "linreg_channel", "darvas", "auto_fib",
	}, name)
}

// checkRange holds that the lines of a percentage stay within its range. Conditions rely on it.
func checkRange(t *testing.T, name string, r *Result) {
	t.Helper()
	b := r.YRange
	if b == nil || *b != [2]float64{0, 100} && *b != [2]float64{-100, 0} {
		return
	}
	for _, l := range r.Lines {
		for _, x := range l.Values {
			if x < b[0]-1e-9 || x > b[1]+1e-9 {
				t.Fatalf("%s: %s is %v, outside its range %v", name, l.Label, x, *b)
			}
		}
	}
}

// checkResult holds what every result promises.
func checkResult(t *testing.T, name string, s *Selection, r *Result, n int) {
	t.Helper()
	if r.Label == "" || r.Overlay != (s.Def.Kind == Overlay) {
		t.Errorf("%s: label %q, overlay %v", name, r.Label, r.Overlay)
	}
	column := func(what string, c []float64) {
		if len(c) != n {
			t.Errorf("%s: %s has %d values for %d bars", name, what, len(c), n)
		}
	}
	for i, l := range r.Lines {
		column("line "+l.Label, l.Values)
		if want := s.Def.Lines; len(want) > 0 && !slices.Contains(want, l.Label) {
			t.Errorf("%s: line %d is called %q, not listed in %v", name, i, l.Label, want)
		}
	}
	for _, h := range r.Hist {
		column("histogram "+h.Label, h.Values)
	}
	for _, f := range r.Fills {
		column("fill y1", f.Y1)
		column("fill y2", f.Y2)
	}
	for _, g := range r.Signals {
		if !s.Def.Emits(g.Label) || g.X < 0 || g.Confirmed < g.X || g.Confirmed >= n || g.Y != g.Y {
			t.Errorf("%s: bad signal %+v for %d bars", name, g, n)
		}
	}
	for _, d := range r.DivLines {
		if d.X1 < 0 || d.X1 >= d.X2 || d.X2 >= n {
			t.Errorf("%s: bad divergence %+v", name, d)
		}
	}
	for _, h := range r.HBars {
		if !(h.Width >= 0 && h.Width <= 1 && h.Offset >= 0 && h.Offset <= 1 && h.Height > 0) {
			t.Errorf("%s: bad bar %+v", name, h)
		}
	}
}

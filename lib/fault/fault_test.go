package fault_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"candela/lib/fault"
)

func TestKind_String(t *testing.T) {
	t.Parallel()
	want := map[fault.Kind]string{
		fault.Internal: "internal", fault.Invalid: "invalid", fault.NotFound: "not_found", fault.Unauthorized: "unauthorized",
		fault.Conflict: "conflict", fault.Unavailable: "unavailable", fault.Unsupported: "unsupported", 99: "kind(99)",
	}
	for kind, text := range want {
		if kind.String() != text {
			t.Errorf("kind %d is %q, want %q", kind, kind, text)
		}
	}
	var zero fault.Kind
	if zero != fault.Internal {
		t.Error("the zero kind is not internal, so an unmarked error would look harmless")
	}
}

func TestError_KeepsTheCauseFromTheClient(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial 10.0.0.7:5432: password is hunter2")
	err := fault.Unreachable(cause, 3*time.Second, "the store of %s does not answer", "alerts")
	if got := err.Public(); got != "the store of alerts does not answer" {
		t.Errorf("the client sees %q", got)
	}
	if got := err.Error(); !strings.Contains(got, "hunter2") || !strings.HasPrefix(got, err.Public()) {
		t.Errorf("the log has %q", got)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is not in the chain")
	}
	if err.Kind != fault.Unavailable || !err.Retryable || err.RetryAfter != 3*time.Second || err.Code != "unavailable" {
		t.Errorf("got %+v", err)
	}
}

func TestError_WithoutMessageShowsItsKind(t *testing.T) {
	t.Parallel()
	err := &fault.Error{Kind: fault.Conflict, Cause: io.EOF}
	if err.Public() != "conflict" || err.Error() != "conflict: EOF" {
		t.Errorf("public %q, log %q", err.Public(), err.Error())
	}
	if (&fault.Error{Message: "m"}).Error() != "m" {
		t.Error("an error without cause is not its message alone")
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	inner := fault.Missing("symbol", "a symbol such as BTCUSDT")
	cases := map[string]struct {
		err  error
		want *fault.Error
		kind fault.Kind
	}{
		"nil":                        {nil, nil, fault.Internal},
		"a plain error is internal":  {io.EOF, nil, fault.Internal},
		"the error itself":           {inner, inner, fault.Invalid},
		"a wrapped error":            {fmt.Errorf("a: %w", fmt.Errorf("b: %w", inner)), inner, fault.Invalid},
		"one of several joined":      {errors.Join(io.EOF, inner), inner, fault.Invalid},
		"the outermost of two wins":  {&fault.Error{Kind: fault.Unavailable, Cause: inner}, nil, fault.Unavailable},
		"an error beneath a message": {&fault.Error{Kind: fault.Internal, Cause: inner}, nil, fault.Internal},
	}
	for name, tc := range cases {
		if got := fault.Of(tc.err); tc.want != nil && got != tc.want || tc.err == nil && got != nil {
			t.Errorf("%s: Of is %v", name, got)
		}
		if got := fault.KindOf(tc.err); got != tc.kind {
			t.Errorf("%s: KindOf is %v, want %v", name, got, tc.kind)
		}
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	got := fault.Field("interval", "7m", "1m 3m 5m", "5m", "3m")
	want := &fault.Error{
		Kind: fault.Invalid, Code: "invalid_argument", Field: "interval", Value: "7m", Allowed: "1m 3m 5m", Suggestions: []string{"5m", "3m"},
		Message: `interval: invalid value "7m"; use 1m 3m 5m; did you mean "5m"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m := fault.Field("a", "b", "c").Message; m != `a: invalid value "b"; use c` {
		t.Errorf("without suggestions the message is %q", m)
	}
}

func TestField_BoundsTheValue(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"a megabyte": strings.Repeat("x", 1<<20), "long letters": strings.Repeat("é", 500), "broken UTF-8": strings.Repeat("x\xff", 500),
	} {
		err := fault.Field("f", value, "less")
		if len(err.Message) > 600 || len(err.Value) > 130 || !utf8.ValidString(err.Value) || !strings.HasSuffix(err.Value, "...") {
			t.Errorf("%s: value %q, message of %d bytes", name, err.Value, len(err.Message))
		}
	}
	if v := fault.Field("f", "a\x00\xffb", "less").Value; v != "a\x00\uFFFDb" {
		t.Errorf("a short broken value is %q", v)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	got := fault.Missing("price", "a number, for limit orders")
	want := &fault.Error{
		Kind: fault.Invalid, Code: "missing_argument", Field: "price", Allowed: "a number, for limit orders",
		Message: "price is required: a number, for limit orders",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func known() []string {
	return strings.Fields("rsi macd bollinger ema sma ema_stack stochastic stoch_rsi supertrend vwap atr adx cci obv mfi ichimoku cipher_b keltner ad wavetrend volume_profile 1m 3m 5m 15m 30m 1h 4h 1d 1w 1M")
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"rsii": "rsi", "bolinger": "bollinger", "15mins": "15m", "macdd": "macd", "stochastics": "stochastic", "supertrends": "supertrend",
		"RSI ": "rsi", "mcad": "macd", "ema stack": "ema_stack", "EMA-Stack": "ema_stack", "bollinger_bands": "bollinger", "super": "supertrend",
		"stochrsi": "stoch_rsi", "ichimku": "ichimoku", "volume": "volume_profile", "kelner": "keltner", "vwaps": "vwap", "15M": "15m",
		"wave_trend": "wavetrend", "boll": "bollinger", "cypher_b": "cipher_b", "profile": "volume_profile",
	} {
		got := fault.Nearest(in, known())
		if len(got) == 0 || got[0] != want {
			t.Errorf("Nearest(%q) is %q, want %q first", in, got, want)
		}
		if len(got) > 3 {
			t.Errorf("Nearest(%q) has %d names", in, len(got))
		}
	}
}

func TestNearest_StaysSilentWhenNothingIsNear(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "x", "r", "zz", "am", "pizza", "admiral", "fibonacci", "head_and_shoulders", "9q", "_", "---", "macroeconomics", "\xff\xfe", "日本語",
		strings.Repeat("rsi", 1000),
	} {
		if got := fault.Nearest(in, known()); len(got) != 0 {
			t.Errorf("Nearest(%q) is %q", in, got)
		}
	}
	if got := fault.Nearest("rsi", nil); len(got) != 0 {
		t.Errorf("out of nothing comes %q", got)
	}
}

func FuzzNearest(f *testing.F) {
	for _, s := range []string{"rsii", "", "bollinger bands", "\xff", "日本語", "a_b-c d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := fault.Nearest(in, known())
		if len(got) > 3 {
			t.Fatalf("%q has %d suggestions", in, len(got))
		}
		for _, name := range got {
			if !slices.Contains(known(), name) {
				t.Fatalf("%q suggests %q", in, name)
			}
		}
	})
}

func FuzzField(f *testing.F) {
	f.Add("interval", "7m")
	f.Add("", strings.Repeat("é", 100))
	f.Fuzz(func(t *testing.T, field, value string) {
		err := fault.Field(field, value, "less")
		if !utf8.ValidString(err.Value) || len(err.Value) > 123 {
			t.Fatalf("%q comes back as %q", value, err.Value)
		}
	})
}

func TestClean_KeepsOnlyWhatCanBeSeen(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                        "",
		"Insufficient balance.":                   "Insufficient balance.",
		" a\tb\r\n\r\nc\u2028d\u0085e ":           "a b c d e",
		"\x1b[31mred\x1b[0m\x07":                  "[31mred[0m",
		"\u202eevil\u2066\u2069\u200f\u061c":      "evil",
		"\u00e9\U0001F468\u200d\U0001F469":        "\u00e9\U0001F468\u200d\U0001F469",
		"\u009b1A\xff":                            "1A\uFFFD",
		strings.Repeat("\u00e9", 30):              strings.Repeat("\u00e9", 30),
		strings.Repeat("\u00e9", 31):              strings.Repeat("\u00e9", 30) + "...",
		strings.Repeat("x", 30) + " and more":     strings.Repeat("x", 30) + "...",
		strings.Repeat("x", 29) + " y" + "\u202e": strings.Repeat("x", 29) + "...",
	} {
		if got := fault.Clean(given, 30); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func TestVisible_KeepsLines(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                   "",
		" a\tb\n\n c ":                       " a\tb\n\n c ",
		"\x1b[31mred\x1b[0m\x07\r\n":         "[31mred[0m\n",
		"\u202eevil\u2066\u2069\u200f\u061c": "evil",
		"\u00e9\U0001F468\u200d\U0001F469":   "\u00e9\U0001F468\u200d\U0001F469",
	} {
		if got := fault.Visible(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func TestPlain_LooksLikeNoOther(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"K1": true, "order 7/a~": true, "K1 ": false, " K1": false, "K1\u200b": false, "K\u0131": false, "K1\n": false, "K\x7f": false, "\xff": false,
	} {
		if fault.Plain(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func TestNew_SetsEveryPart(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	got := fault.New(fault.Conflict, "taken", "key %q is taken", "a").About("key", "a", "a free key").Because(cause).Retry(time.Second)
	want := &fault.Error{
		Kind: fault.Conflict, Code: "taken", Message: `key "a" is taken`, Field: "key", Value: "a", Allowed: "a free key",
		Retryable: true, RetryAfter: time.Second, Cause: cause,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

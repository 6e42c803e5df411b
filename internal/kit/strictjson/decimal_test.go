package strictjson_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"candela/internal/kit/strictjson"
)

func TestReader_DecimalIsExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"0.10000000"`: "0.1", `0.1`: "0.1", `"123456789.12345678"`: "123456789.12345678", `"-3"`: "-3", `1e3`: "1000", `"0"`: "0",
	} {
		j := strictjson.NewReader([]byte(text))
		got := j.Decimal()
		if err := j.End(); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`"1,000"`, `""`, `null`, `1e400`, `1e-400`, `"NaN"`, `"0x1"`, `true`, `"` + strings.Repeat("9", 60) + `"`} {
		j := strictjson.NewReader([]byte(text))
		if got := j.Decimal(); j.End() == nil {
			t.Errorf("%s is taken for %s", text, got)
		}
	}
	j := strictjson.NewReader([]byte(`"-0.1"`))
	if j.Amount(); j.End() == nil {
		t.Error("an amount is negative")
	}
	j = strictjson.NewReader([]byte(`{}`))
	if !j.Amount().IsZero() || j.OK() {
		t.Error("an object is an amount")
	}
}

// TestReader_QuotedIsWhatStrconvReads holds that the short way to read a decimal gives the value
// of the long one in every bit, and refuses what that refuses.
func TestReader_QuotedIsWhatStrconvReads(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte('0' + rng.IntN(10))
		}
		return string(text)
	}
	texts := []string{
		"0", "-0", "-0.0", "0.1", "1.", ".5", "00", "01", "-", "--1", "", "1e5", "1.5e-7", "1E400", "9007199254740991", "9007199254740992",
		"9007199254740993", "0.000000000000001", "0.0000000000000001", "123456789012345678901234567890", "0.30000000000000004", "1_000", "0x1p4", "1 ",
	}
	for range 20_000 {
		texts = append(texts, strings.Repeat("-", rng.IntN(2))+digits(1+rng.IntN(9))+"."+digits(1+rng.IntN(17)))
	}
	number := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`) // RFC 8259 6
	for _, text := range texts {
		j := strictjson.NewReader([]byte(`"` + text + `"`))
		got := j.Quoted()
		want, err := strconv.ParseFloat(text, 64)
		if ok := err == nil && number.MatchString(text); ok != (j.End() == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%q: %v (%v), want %v (%v)", text, got, j.End(), want, err)
		}
	}
}

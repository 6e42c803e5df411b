package strictjson_test

import (
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

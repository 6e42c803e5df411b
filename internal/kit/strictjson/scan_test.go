package strictjson_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"candela/internal/kit/strictjson"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	wide := func(n int, last string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			b.WriteString(`"k` + strconv.Itoa(i) + `":1,`)
		}
		return b.String() + last + `:1}`
	}
	for name, test := range map[string]struct {
		text string
		want string // part of the error, empty for none
	}{
		"an object":                           {` {"a":[1,-2.5e+3,true,false,null,"x\u00e9\n"]} `, ""},
		"a surrogate pair":                    {`"\ud83d\ude00"`, ""},
		"nothing":                             {``, "unexpected end"},
		"white space only":                    {"\t \n", "unexpected end"},
		"bytes after the value":               {`{} {}`, "unexpected bytes after"},
		"a key twice":                         {`{"a":1,"a":2}`, `key "a" is given twice`},
		"a key twice through an escape":       {`{"a":1,"\u0061":2}`, `key "a" is given twice`},
		"a key twice deep inside":             {`{"a":[{"b":{"c":1,"c":1}}]}`, `key "c" is given twice`},
		"a key twice among many":              {wide(40, `"k3"`), `key "k3" is given twice`},
		"the same key in sibling objects":     {`[{"a":1},{"a":1}]`, ""},
		"many keys":                           {wide(40, `"z"`), ""},
		"keys that differ in case":            {`{"a":1,"A":2}`, ""},
		"depth at the limit":                  {deep(strictjson.MaxDepth), ""},
		"depth beyond the limit":              {deep(strictjson.MaxDepth + 1), "nested deeper"},
		"a megabyte of open brackets":         {strings.Repeat("[", 1<<20), "nested deeper"},
		"invalid UTF-8":                       {"\"\xff\"", "invalid UTF-8"},
		"an overlong encoding":                {"\"\xc0\xaf\"", "invalid UTF-8"},
		"a lone high surrogate":               {`"\ud800"`, "lone surrogate"},
		"a lone low surrogate":                {`"\udc00"`, "lone surrogate"},
		"a high surrogate before a letter":    {`"\ud800\u0041"`, "lone surrogate"},
		"a control character":                 {"\"a\nb\"", "control character"},
		"an unknown escape":                   {`"\x41"`, "unknown escape"},
		"a cut escape":                        {`"\u00`, "four hex digits"},
		"a leading zero":                      {`01`, "unexpected bytes after"},
		"a bare point":                        {`1.`, "after the point"},
		"a bare exponent":                     {`1e`, "exponent"},
		"a leading plus":                      {`+1`, "unexpected character"},
		"NaN":                                 {`NaN`, "unexpected character"},
		"a trailing comma in an object":       {`{"a":1,}`, "expected a key"},
		"a trailing comma in an array":        {`[1,]`, "unexpected character"},
		"a missing colon":                     {`{"a" 1}`, "expected ':'"},
		"a missing comma":                     {`[1 2]`, "expected ',' or ']'"},
		"a byte order mark":                   {"\xef\xbb\xbf{}", "unexpected character"},
		"a comment":                           {`{/**/}`, "expected a key"},
		"a number of a hundred thousand nine": {strings.Repeat("9", 100_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := strictjson.Check([]byte(test.text))
			switch {
			case test.want == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// FuzzCheck holds Check against encoding/json: what passes must be valid there
// and mean the same, and what is refused must be invalid there or break one of
// the stricter rules.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, `[1,2,{"b":"\u00e9\ud83d\ude00"}]`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `-0.1e-7`, `[[[[]]]]`, ` null `, `{"":{"":0}}`, `01`, `tru`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := strictjson.Check(data)
		if err == nil {
			if !json.Valid(data) || !utf8.Valid(data) {
				t.Fatalf("passed %q, which is not valid JSON in UTF-8", data)
			}
			compareFields(t, data)
			return
		}
		stricter := []string{"given twice", "lone surrogate", "invalid UTF-8", "nested deeper"}
		for _, reason := range stricter {
			if strings.Contains(err.Error(), reason) {
				return
			}
		}
		if json.Valid(data) {
			t.Fatalf("refused %q: %v, though encoding/json reads it", data, err)
		}
	})
}

// TestAppendFloat_IsWhatEncodingJSONWrites holds the text of numbers against that of
// the standard library, which other parts of an answer are written with.
func TestAppendFloat_IsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 0.1 + 0.2, 51319.810000000005, 1e-6, 9.99e-7, -1.5e-9, 1e-10, 1e-100,
		1e20, 1e21, -1e21, 5e-324, math.MaxFloat64, math.Pi * 1e15, 1 << 53,
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := strictjson.AppendFloat([]byte("e-0"), v); string(got) != "e-0"+string(want) {
			t.Errorf("%v became %s, want %s", v, got, want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := strictjson.AppendFloat(nil, v); string(got) != "null" {
			t.Errorf("%v became %s", v, got)
		}
	}
}

func compareFields(t *testing.T, data []byte) {
	t.Helper()
	trimmed := bytes.TrimSpace(data)
	switch trimmed[0] {
	case '{':
		var want map[string]json.RawMessage
		if err := json.Unmarshal(trimmed, &want); err != nil {
			t.Fatal(err)
		}
		got := maps.Collect(strictjson.Fields(trimmed))
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("fields of %q: got %q want %q", trimmed, got, want)
		}
	case '[':
		var want []json.RawMessage
		if err := json.Unmarshal(trimmed, &want); err != nil {
			t.Fatal(err)
		}
		i := 0
		for item := range strictjson.Items(trimmed) {
			if i >= len(want) || !bytes.Equal(item, want[i]) {
				t.Fatalf("item %d of %q is %q", i, trimmed, item)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d items of %q, want %d", i, trimmed, len(want))
		}
	case '"':
		var want string
		if err := json.Unmarshal(trimmed, &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := strictjson.Text(trimmed); !ok || got != want {
			t.Fatalf("text of %q is %q, want %q", trimmed, got, want)
		}
	}
}

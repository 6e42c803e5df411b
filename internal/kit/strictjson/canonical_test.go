package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"candela/internal/kit/strictjson"
	"candela/internal/testkit/longtest"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want, wrong string }{
		{"keys are sorted and blanks are gone", " { \"b\" : [ 1 , true ,null ] , \"a\" : { } , \"A\":[]} ", `{"A":[],"a":{},"b":[1,true,null]}`, ""},
		{"strings have as few escapes as possible", `"\u0008\u0009\u000a\u000c\u000d\u001f\u007f\u00e9\ud83d\ude00\/<>&\u2028\"\\"`, "\"\\b\\t\\n\\f\\r\\u001f\u007f\u00e9\U0001F600/<>&\u2028\\\"\\\\\"", ""},
		{"integers up to the largest", `[0,-1,9007199254740991,-9007199254740991]`, `[0,-1,9007199254740991,-9007199254740991]`, ""},
		{"a number alone", " 7 ", "7", ""},
		{"a fraction", `{"a":1.5}`, "", "integers below 2^53"},
		{"an exponent", `[1e2]`, "", "integers below 2^53"},
		{"negative zero", `-0`, "", "integers below 2^53"},
		{"an integer that is too large", `9007199254740992`, "", "integers below 2^53"},
		{"a key that is not ASCII", `{"\u00e9":1}`, "", "keys are ASCII"},
		{"a key twice", `{"a":1,"\u0061":2}`, "", "twice"},
		{"a lone surrogate", `"\ud800"`, "", "surrogate"},
		{"two values", `1 2`, "", "after the JSON value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := strictjson.Canonical([]byte(c.text))
			if c.wrong == "" && (err != nil || string(got) != c.want) {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("%s, %v; want an error with %q", got, err, c.wrong)
			}
		})
	}
}

// FuzzCanonical holds that the form keeps the value and is its own form, and that it is what encoding/json
// writes where that escapes the same.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,{"d":"x","c":null}],"a":"\u0001"}`, `[]`, `" é "`, `{"a":{},"":0}`, `-12`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := strictjson.Canonical(data)
		if err != nil {
			return
		}
		again, err := strictjson.Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s becomes %s, %v", got, again, err)
		}
		var before, after any
		if err := json.Unmarshal(data, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s is not %s", b, a)
		}
	})
}

// TestCanonical_IsWhatPythonWrites compares with the form that a verifier in Python computes.
func TestCanonical_IsWhatPythonWrites(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the canonical form is compared with its table alone")
	}
	random := rand.New(rand.NewPCG(longtest.Seed(), 8785))
	var texts, want bytes.Buffer
	for range longtest.Pick(500, 50_000) {
		text, err := json.Marshal(value(random, 4))
		if err != nil {
			t.Fatal(err)
		}
		form, err := strictjson.Canonical(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		texts.Write(append(text, '\n'))
		want.Write(append(form, '\n'))
	}
	const program = `import json, sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")`
	cmd := exec.CommandContext(t.Context(), python, "-c", program)
	cmd.Stdin = &texts
	got, err := cmd.Output()
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("seed %d: the forms differ: %v", longtest.Seed(), err)
	}
}

// value returns a random value, nested at most so deep.
func value(random *rand.Rand, deep int) any {
	switch n := random.IntN(8); {
	case n == 0 && deep > 0:
		all := make(map[string]any)
		for range random.IntN(6) {
			all[text(random, 0x80)] = value(random, deep-1)
		}
		return all
	case n == 1 && deep > 0:
		all := []any{}
		for range random.IntN(6) {
			all = append(all, value(random, deep-1))
		}
		return all
	case n == 2:
		return random.IntN(2) == 0
	case n == 3:
		return nil
	case n == 4:
		return random.Int64N(1<<54-1) - (1<<53 - 1)
	default:
		return text(random, 0x11000)
	}
}

// text returns a random text of characters below one.
func text(random *rand.Rand, below int32) string {
	var b strings.Builder
	for range random.IntN(12) {
		if c := random.Int32N(below); c < 0xD800 || c > 0xDFFF {
			b.WriteRune(c)
		}
	}
	return b.String()
}

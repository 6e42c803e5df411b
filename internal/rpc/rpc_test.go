package rpc_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"candela/internal/rpc"
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
		"depth at the limit":                  {deep(rpc.MaxDepth), ""},
		"depth beyond the limit":              {deep(rpc.MaxDepth + 1), "nested deeper"},
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
			err := rpc.Check([]byte(test.text))
			switch {
			case test.want == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		id   string
		kind rpc.Kind
		code int
		text string
	}{
		"request":                          {body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, id: "1", kind: rpc.Request},
		"id beyond 2^53":                   {body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, id: "9007199254740993", kind: rpc.Request},
		"id with escapes":                  {body: `{"jsonrpc":"2.0","id":"a\u0041/\/","method":"ping"}`, id: `"a\u0041/\/"`, kind: rpc.Request},
		"id as a fraction":                 {body: `{"jsonrpc":"2.0","id":1.50,"method":"ping"}`, id: "1.50", kind: rpc.Request},
		"notification":                     {body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, kind: rpc.Notification},
		"null params":                      {body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, id: "1", kind: rpc.Request},
		"answer of a client":               {body: `{"jsonrpc":"2.0","id":1,"result":{}}`, id: "1", kind: rpc.Response},
		"unknown member":                   {body: `{"jsonrpc":"2.0","id":1,"method":"ping","trace":1}`, id: "1", kind: rpc.Request},
		"method in another case beside it": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"tools/list"}`, code: rpc.CodeInvalidRequest, text: `"Method" must be written "method"`},
		"params with a letter that folds":  {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","param\u017f":{}}`, code: rpc.CodeInvalidRequest, text: `must be written "params"`},
		"method twice":                     {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`, code: rpc.CodeParse, text: `"method" is given twice`},
		"method twice through an escape":   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","m\u0065thod":"tools/call"}`, code: rpc.CodeParse, text: "given twice"},
		"a params key twice":               {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, code: rpc.CodeParse, text: "given twice"},
		"null id":                          {body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: rpc.CodeInvalidRequest, text: "id must be"},
		"object id":                        {body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: rpc.CodeInvalidRequest, text: "id must be"},
		"boolean id":                       {body: `{"jsonrpc":"2.0","id":true,"method":"ping"}`, code: rpc.CodeInvalidRequest, text: "id must be"},
		"huge id":                          {body: `{"jsonrpc":"2.0","id":` + strings.Repeat("1", 300) + `,"method":"ping"}`, code: rpc.CodeInvalidRequest, text: "id must be"},
		"version 1":                        {body: `{"jsonrpc":"1.0","id":7,"method":"ping"}`, id: "7", code: rpc.CodeInvalidRequest, text: "jsonrpc"},
		"no version":                       {body: `{"id":7,"method":"ping"}`, id: "7", code: rpc.CodeInvalidRequest, text: "jsonrpc"},
		"no method":                        {body: `{"jsonrpc":"2.0","id":7}`, id: "7", code: rpc.CodeInvalidRequest, text: "method is required"},
		"number as method":                 {body: `{"jsonrpc":"2.0","id":7,"method":1}`, id: "7", code: rpc.CodeInvalidRequest, text: "method must be a string"},
		"method and result":                {body: `{"jsonrpc":"2.0","id":7,"method":"ping","result":1}`, id: "7", code: rpc.CodeInvalidRequest, text: "neither"},
		"params as a list":                 {body: `{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}`, id: "7", kind: rpc.Request, code: rpc.CodeInvalidParams, text: "must be an object"},
		"params as text":                   {body: `{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}`, id: "7", code: rpc.CodeInvalidRequest, text: "must be an object"},
		"a bare number":                    {body: `7`, code: rpc.CodeInvalidRequest, text: "must be a JSON object"},
		"an empty batch":                   {body: `[]`, code: rpc.CodeInvalidRequest, text: "empty"},
		"a batch too long":                 {body: `[` + strings.Repeat(`1,`, rpc.MaxBatch) + `1]`, code: rpc.CodeInvalidRequest, text: "at most 64"},
		"no JSON":                          {body: `hello`, code: rpc.CodeParse, text: "parse error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, failure := rpc.Read([]byte(test.body))
			call := rpc.Call{Err: failure}
			if failure == nil {
				call = body.Calls[0]
			}
			if test.code != 0 {
				if call.Err == nil || call.Err.Code != test.code || !strings.Contains(call.Err.Message, test.text) {
					t.Fatalf("error %+v, want code %d and %q", call.Err, test.code, test.text)
				}
			} else if call.Err != nil {
				t.Fatalf("refused: %v", call.Err)
			}
			if string(call.ID) != test.id || test.kind != 0 && call.Kind != test.kind {
				t.Fatalf("id %s kind %d, want %s and %d", call.ID, call.Kind, test.id, test.kind)
			}
		})
	}
}

func TestRead_BatchKeepsItsGoodMessages(t *testing.T) {
	t.Parallel()
	body, failure := rpc.Read([]byte(` [ 1 , {"jsonrpc":"2.0","id":"b","method":"ping"} , {"jsonrpc":"2.0","method":"x"} ] `))
	if failure != nil || !body.Batch || len(body.Calls) != 3 {
		t.Fatalf("%+v %v", body, failure)
	}
	if body.Calls[0].Err == nil || body.Calls[1].Err != nil || string(body.Calls[1].ID) != `"b"` || body.Calls[2].Kind != rpc.Notification {
		t.Fatalf("%+v", body.Calls)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":1e0,"result":{}}`:                                        rpc.AppendResult(nil, json.RawMessage("1e0"), json.RawMessage("{}")),
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a\"\\\n\u0001"}}`: rpc.AppendError(nil, nil, &rpc.Error{Code: rpc.CodeParse, Message: "a\"\\\n\x01"}),
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"é","data":[1]}}`:     rpc.AppendError(nil, json.RawMessage("1"), &rpc.Error{Code: rpc.CodeInvalidParams, Message: "é", Data: json.RawMessage("[1]")}),
		`{"jsonrpc":"2.0","method":"n","params":{"a":1}}`:                               rpc.AppendNotification(nil, "n", json.RawMessage(`{"a":1}`)),
		"\"\uFFFDx\uFFFD\uFFFD\"":                                                       rpc.AppendString(nil, "\xffx\xe2\x82"),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestBody_AppendRefusal(t *testing.T) {
	t.Parallel()
	refused := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32001,"message":"busy"}}`
	}
	const (
		request      = `{"jsonrpc":"2.0","id":"b","method":"ping"}`
		wrong        = `{"jsonrpc":"1.0","id":7,"method":"ping"}`
		notification = `{"jsonrpc":"2.0","method":"x"}`
		response     = `{"jsonrpc":"2.0","id":3,"result":{}}`
	)
	for data, want := range map[string]string{
		request:      refused(`"b"`),
		wrong:        refused(`7`),
		notification: "", response: "", `5`: "",
		`[` + request + `]`: `[` + refused(`"b"`) + `]`,
		`[` + notification + `,` + request + `,1,` + wrong + `,` + response + `]`: `[` + refused(`"b"`) + `,` + refused(`7`) + `]`,
		`[` + notification + `,` + response + `]`:                                 "",
	} {
		body, failure := rpc.Read([]byte(data))
		if failure != nil {
			t.Fatal(failure)
		}
		got := body.AppendRefusal([]byte("-"), &rpc.Error{Code: rpc.CodeRefused, Message: "busy"})
		if string(got) != "-"+want {
			t.Errorf("%s is answered with %s, want %s", data, got[1:], want)
		}
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
		err := rpc.Check(data)
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

func compareFields(t *testing.T, data []byte) {
	t.Helper()
	trimmed := bytes.TrimSpace(data)
	switch trimmed[0] {
	case '{':
		var want map[string]json.RawMessage
		if err := json.Unmarshal(trimmed, &want); err != nil {
			t.Fatal(err)
		}
		got := maps.Collect(rpc.Fields(trimmed))
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("fields of %q: got %q want %q", trimmed, got, want)
		}
	case '[':
		var want []json.RawMessage
		if err := json.Unmarshal(trimmed, &want); err != nil {
			t.Fatal(err)
		}
		i := 0
		for item := range rpc.Items(trimmed) {
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
		if got, ok := rpc.Text(trimmed); !ok || got != want {
			t.Fatalf("text of %q is %q, want %q", trimmed, got, want)
		}
	}
}

// FuzzRead holds that whatever arrives, every answer written for it is valid
// JSON and carries the id's own bytes.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","arguments":null}},3]`))
	f.Add([]byte(`{"jsonrpc":"2.0","Method":"a","id":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		body, failure := rpc.Read(data)
		if failure != nil {
			body.Calls = []rpc.Call{{Err: failure}}
		}
		for _, call := range body.Calls {
			answer := rpc.AppendResult(nil, call.ID, json.RawMessage(`{}`))
			if call.Err != nil {
				answer = rpc.AppendError(nil, call.ID, call.Err)
			}
			var back struct{ ID json.RawMessage }
			if err := json.Unmarshal(answer, &back); err != nil {
				t.Fatalf("answer %q: %v", answer, err)
			}
			if call.ID != nil && !bytes.Equal(back.ID, call.ID) {
				t.Fatalf("id %q came back as %q", call.ID, back.ID)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"get_indicators","arguments":{"symbol":"BTCUSDT","indicators":["rsi","macd"],"interval":"4h"}}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, failure := rpc.Read(body); failure != nil {
			b.Fatal(failure)
		}
	}
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
		if got := rpc.AppendFloat([]byte("e-0"), v); string(got) != "e-0"+string(want) {
			t.Errorf("%v became %s, want %s", v, got, want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := rpc.AppendFloat(nil, v); string(got) != "null" {
			t.Errorf("%v became %s", v, got)
		}
	}
}

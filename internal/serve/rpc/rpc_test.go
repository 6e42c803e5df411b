package rpc_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

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
		"\"\uFFFDx\uFFFD\uFFFD\"":                                                       strictjson.AppendString(nil, "\xffx\xe2\x82"),
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

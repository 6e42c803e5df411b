package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
	"candela/internal/testkit/longtest"
)

// recorder is a toolbox that remembers the last tool called. Its waiting tool does not
// wait.
type recorder struct {
	mcptest.Toolbox
	called *string
}

func (r recorder) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	*r.called = name
	if name == "wait" || name == "idle" {
		return mcp.Result{}, nil
	}
	return r.Toolbox.Call(ctx, caller, name, arguments)
}

// eitherServer is a server of the legacy revision alone and one of both.
type eitherServer struct {
	legacy, both *mcp.Server
	called       *string
}

func newEitherServer(tb testing.TB) eitherServer {
	tb.Helper()
	e := eitherServer{called: new(string)}
	for at, modern := range map[**mcp.Server]bool{&e.legacy: false, &e.both: true} {
		server, err := mcp.NewServer(recorder{called: e.called}, mcp.Config{Name: "candela", Version: "test", Modern: modern, Resources: &mcptest.Shelf{}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			tb.Fatal(err)
		}
		*at = server
	}
	return e
}

// namesNewer reports whether a message names a newer revision than 2025-03-26, by a
// decoder other than the one that is tested.
func namesNewer(header mcp.Header, body json.RawMessage) bool {
	var m struct {
		Method any
		Params any
	}
	if json.Unmarshal(body, &m) != nil {
		return false
	}
	params, _ := m.Params.(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	version, named := meta["io.modelcontextprotocol/protocolVersion"]
	if named && version != mcp.ProtocolVersion || m.Method == "server/discover" || m.Method == "subscriptions/listen" {
		return true
	}
	if m.Method == "initialize" && !named {
		return false
	}
	return slices.ContainsFunc(header["Mcp-Protocol-Version"], func(v string) bool {
		return !slices.Contains([]string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}, v)
	}) || repeatsAnother(header, m.Method, params)
}

// repeatsAnother reports whether a header has a method or name other than the body's.
func repeatsAnother(header mcp.Header, method any, params map[string]any) bool {
	named := map[any]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[method]
	name, _ := params[named].(string)
	other := func(values []string, want any, read func(string) string) bool {
		return len(values) > 1 || len(values) == 1 && read(values[0]) != want
	}
	return other(header["Mcp-Method"], method, strings.TrimSpace) || named != "" && other(header["Mcp-Name"], name, decoded)
}

// anyNewer is namesNewer for a body that may be a batch.
func anyNewer(header mcp.Header, body []byte) bool {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		return namesNewer(header, body)
	}
	return slices.ContainsFunc(batch, func(m json.RawMessage) bool { return namesNewer(header, m) })
}

// check holds what a newer revision must not change, and what the header promises.
func (e eitherServer) check(t *testing.T, header mcp.Header, body string) {
	t.Helper()
	want, refusal := ask(t, e.legacy, header, body)
	if strings.Contains(want, `"resultType"`) || refusal != nil || modernCode(want) {
		t.Fatalf("a server of 2025-03-26 answered %s to %s", want, body)
	}
	*e.called = ""
	got, refusal := ask(t, e.both, header, body)
	if !anyNewer(header, []byte(body)) {
		if got != want || refusal != nil {
			t.Fatalf("%s names no newer revision and is answered\n%s, not\n%s", body, got, want)
		}
		return
	}
	if method, name := header["Mcp-Method"], header["Mcp-Name"]; *e.called != "" &&
		(len(method) > 0 && !slices.Equal(method, []string{"tools/call"}) || len(name) > 0 && (len(name) > 1 || decoded(name[0]) != *e.called)) {
		t.Fatalf("the tool %s was called, but the header is %v", *e.called, header)
	}
	if version := header["Mcp-Protocol-Version"]; *e.called != "" && len(version) == 1 && version[0] == mcp.ModernVersion {
		if !slices.Equal(header["Mcp-Method"], []string{"tools/call"}) || len(header["Mcp-Name"]) != 1 || decoded(header["Mcp-Name"][0]) != *e.called {
			t.Fatalf("the tool %s was called, but the header is %v", *e.called, header)
		}
	}
}

// modernCode reports whether an answer has an error code that only newer servers send.
func modernCode(answer string) bool {
	var one struct{ Error struct{ Code int } }
	var all []struct{ Error struct{ Code int } }
	if json.Unmarshal([]byte(answer), &one) == nil {
		all = append(all, one)
	} else if json.Unmarshal([]byte(answer), &all) != nil {
		return false
	}
	for _, a := range all {
		if a.Error.Code <= -32020 && a.Error.Code >= -32099 {
			return true
		}
	}
	return false
}

func decoded(name string) string {
	name = strings.TrimSpace(name)
	if inner, ok := strings.CutPrefix(name, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
		data, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, "?="))
		if err == nil {
			return string(data)
		}
	}
	return name
}

// transcribed returns the bodies of all transcripts.
func transcribed(tb testing.TB) (bodies []string) {
	tb.Helper()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		tb.Fatal("no transcripts", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name == "send" {
				bodies = append(bodies, strings.TrimSuffix(string(f.Data), "\n"))
			}
		}
	}
	return bodies
}

// TestRevision_OlderRequestsAreAnsweredAsBefore compares both servers on transcripts and
// random requests.
func TestRevision_OlderRequestsAreAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	e, random := newEitherServer(t), rand.New(rand.NewPCG(longtest.Seed(), 28))
	for _, body := range transcribed(t) {
		e.check(t, nil, body)
		e.check(t, mcptest.HeaderOf([]byte(body)), body)
		e.check(t, mcp.Header{"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Method": {"x"}}, body)
	}
	for range longtest.Pick(20_000, 2_000_000) {
		e.check(t, randomHeader(random), randomBody(random))
	}
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func randomHeader(r *rand.Rand) mcp.Header {
	if r.IntN(4) == 0 {
		return nil
	}
	header := mcp.Header{}
	add := func(name string, values ...string) {
		for range r.IntN(3) {
			header[name] = append(header[name], pick(r, values...))
		}
	}
	add("Mcp-Protocol-Version", "2026-07-28", "2026-07-28", "2025-03-26", "2025-11-25", "2027-01-01", "", "x")
	add("Mcp-Method", "tools/call", "tools/call", "tools/list", "TOOLS/CALL", "")
	add("Mcp-Name", "echo", " echo ", "fail", "=?base64?ZWNobw==?=", "=?base64?ZWNobw?=", "=?BASE64?ZWNobw==?=")
	return header
}

func randomBody(r *rand.Rand) string {
	one := func() string {
		method := pick(r, "initialize", "ping", "tools/list", "tools/call", "tools/call", "tools/call", "resources/list", "resources/read", "server/discover", "subscriptions/listen", "notifications/initialized", "x")
		var members []string
		version := pick(r, `"2026-07-28"`, `"2026-07-28"`, `"2025-03-26"`, `"2025-11-25"`, `7`, `null`, `"2026\u002d07-28"`)
		key := pick(r, "io.modelcontextprotocol/protocolVersion", `io.modelcontextprotocol\/protocolVersion`, "protocolVersion")
		meta := pick(r, "", "7", "{}", fmt.Sprintf(`{"%s":%s,"io.modelcontextprotocol/clientCapabilities":{}}`, key, version), fmt.Sprintf(`{"%s":%s}`, key, version))
		if meta != "" {
			members = append(members, pick(r, `"_meta":`, `"\u005fmeta":`, `"_Meta":`)+meta)
		}
		if name := pick(r, "", "echo", "fail", "nope"); name != "" {
			members = append(members, `"name":"`+name+`"`)
		}
		members = append(members, pick(r, `"arguments":{"_meta":1}`, `"arguments":[]`, `"cursor":null`, `"uri":"test://note"`, `"notifications":{}`))
		id := pick(r, `"id":1,`, `"id":"a",`, `"id":null,`, "")
		return fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":"%s","params":{%s}}`, id, method, strings.Join(members, ","))
	}
	if r.IntN(8) > 0 {
		return one()
	}
	return "[" + one() + "," + one() + "]"
}

// FuzzRevision looks for a request without a newer revision that is answered differently,
// and for a tool that runs although the header promises something else.
func FuzzRevision(f *testing.F) {
	for _, body := range transcribed(f) {
		f.Add(body, "2026-07-28", "tools/call", "echo")
		f.Add(body, "", "", "")
	}
	f.Fuzz(func(t *testing.T, body, version, method, name string) {
		header := mcp.Header{}
		for key, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name} {
			if value != "" {
				header[key] = []string{value}
			}
		}
		newEitherServer(t).check(t, header, body)
	})
}

// TestRevision_HeaderMustRepeatTheBody has each way in which it does not.
func TestRevision_HeaderMustRepeatTheBody(t *testing.T) {
	t.Parallel()
	call, list := mcptest.Modern("1", "tools/call", `"name":"echo"`), mcptest.Modern("1", "tools/list", "")
	odd := mcptest.Modern("1", "tools/call", `"name":"e\u00e9"`)
	without := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`
	older := strings.Replace(call, "2026-07-28", "2025-03-26", 1)
	header := func(version, method, name string) mcp.Header {
		h := mcp.Header{}
		for key, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name} {
			if value != "" {
				h[key] = []string{value}
			}
		}
		return h
	}
	twice := header("2026-07-28", "tools/call", "echo")
	twice["Mcp-Name"] = []string{"echo", "echo"}
	for _, c := range []struct {
		name, body string
		header     mcp.Header
		code       int
	}{
		{"all as in the body", call, header("2026-07-28", "tools/call", "echo"), 0},
		{"white space around a value", call, header("2026-07-28", "tools/call", "  echo "), 0},
		{"an encoded name", call, header("2026-07-28", "tools/call", "=?base64?ZWNobw==?="), 0},
		{"an encoded name outside ASCII", odd, header("2026-07-28", "tools/call", "=?base64?ZcOp?="), rpc.CodeInvalidParams}, // there is no such tool
		{"a list needs no name", list, header("2026-07-28", "tools/list", ""), 0},
		{"no header", call, header("", "", ""), rpc.CodeHeaderMismatch},
		{"no version", call, header("", "tools/call", "echo"), rpc.CodeHeaderMismatch},
		{"another version", call, header("2025-03-26", "tools/call", "echo"), rpc.CodeHeaderMismatch},
		{"an unknown version in the header", call, header("2027-01-01", "tools/call", "echo"), rpc.CodeHeaderMismatch},
		{"no method", list, header("2026-07-28", "", ""), rpc.CodeHeaderMismatch},
		{"another method", list, header("2026-07-28", "tools/call", ""), rpc.CodeHeaderMismatch},
		{"a method in other case", list, header("2026-07-28", "TOOLS/LIST", ""), rpc.CodeHeaderMismatch},
		{"an encoded method", list, header("2026-07-28", "=?base64?dG9vbHMvbGlzdA==?=", ""), rpc.CodeHeaderMismatch},
		{"no name", call, header("2026-07-28", "tools/call", ""), rpc.CodeHeaderMismatch},
		{"another name", call, header("2026-07-28", "tools/call", "list_alerts"), rpc.CodeHeaderMismatch},
		{"a name twice", call, twice, rpc.CodeHeaderMismatch},
		{"base64 without padding", call, header("2026-07-28", "tools/call", "=?base64?ZWNobw?="), rpc.CodeHeaderMismatch},
		{"base64 in other case", call, header("2026-07-28", "tools/call", "=?Base64?ZWNobw==?="), rpc.CodeHeaderMismatch},
		{"a header that promises more than the body states", without, header("2026-07-28", "tools/list", ""), rpc.CodeInvalidParams},
		{"another method without a version", without, header("", "tools/list", ""), rpc.CodeInvalidParams},
		{"another method with an older version", without, header("2025-06-18", "tools/list", ""), rpc.CodeInvalidParams},
		{"another name without a version", without, header("", "tools/call", "list_alerts"), rpc.CodeInvalidParams},
		{"the same method without a version", without, header("", "tools/call", ""), 0},
		{"the same method and name with an older version", without, header("2025-06-18", "tools/call", "echo"), 0},
		{"a header that promises more than the body denies", older, header("2026-07-28", "tools/list", ""), rpc.CodeHeaderMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEitherServer(t)
			answer, refusal := ask(t, e.both, c.header, c.body)
			var got struct{ Error struct{ Code int } }
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(err)
			}
			if got.Error.Code != c.code {
				t.Errorf("answered %s, want the code %d", answer, c.code)
			}
			if c.code != 0 && *e.called != "" && !strings.Contains(*e.called, "\u00e9") || c.code == rpc.CodeHeaderMismatch && refusal == nil {
				t.Errorf("refused with %v, called %q", refusal, *e.called)
			}
		})
	}
}

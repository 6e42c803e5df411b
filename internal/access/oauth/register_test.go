package oauth_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/testkit/longtest"
)

func TestRegister_Cursor3URIs(t *testing.T) {
	r := registers(t, `{"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback",
		"https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"],
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`)
	if got := r.JSON(t)["redirect_uris"]; !cmp.Equal(got, []any{
		"cursor://anysphere.cursor-mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback",
	}) {
		t.Errorf("redirect_uris are %v", got)
	}
}

func TestRegister_VSCode4URIs(t *testing.T) {
	registers(t, `{"client_name":"Visual Studio Code","client_uri":"https://code.visualstudio.com","redirect_uris":[
		"https://insiders.vscode.dev/redirect","https://vscode.dev/redirect","http://127.0.0.1/","http://127.0.0.1:33418/"],
		"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"],
		"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native"}`)
}

func TestRegister_ChatGPT(t *testing.T) {
	registers(t, `{"client_name":"ChatGPT","redirect_uris":["https://chatgpt.com/connector/oauth/abc123"],"token_endpoint_auth_method":"client_secret_post"}`)
}

func TestRegister_DottedScheme(t *testing.T) {
	registers(t, each("com.example.app:/oauth", "com.example.app://callback/path")...)
}

func TestRegister_OperatorScheme(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.RedirectSchemes = []string{"myapp"} })
	Documented(t, s.PostRegister(uris("myapp://callback")))
}

func TestRegister_RefreshGrantIgnored(t *testing.T) {
	r := registers(t, `{"redirect_uris":["https://a.example/cb"],"grant_types":["refresh_token","authorization_code"],"scope":"openid email profile"}`)
	body := r.JSON(t)
	if got := body["grant_types"]; !cmp.Equal(got, []any{"authorization_code"}) {
		t.Errorf("grant_types are %v", got)
	}
	if _, ok := body["scope"]; ok {
		t.Error("a scope is in force that does not exist")
	}
}

func TestRegister_NoNulls(t *testing.T) {
	r := registers(t, uris("https://a.example/cb"), `{"redirect_uris":["https://a.example/cb"],"client_name":null,"grant_types":null,"logo_uri":null}`)
	if bytes.Contains(r.Body, []byte(":null")) || bytes.Contains(r.Body, []byte("[null")) || bytes.Contains(r.Body, []byte(`""`)) {
		t.Errorf("%s", r.Body)
	}
	if _, ok := r.JSON(t)["client_name"]; ok {
		t.Error("a name that was not given")
	}
}

func TestRegister_SecretExpiryZero(t *testing.T) {
	r := registers(t, `{"redirect_uris":["https://a.example/cb"],"client_name":"A"}`)
	body := r.JSON(t)
	if got, ok := body["client_secret_expires_at"].(float64); !ok || got != 0 {
		t.Errorf("client_secret_expires_at is %v", body["client_secret_expires_at"])
	}
	for _, field := range []string{"client_id", "client_secret", "client_id_issued_at", "token_endpoint_auth_method", "response_types", "client_name"} {
		if body[field] == nil {
			t.Errorf("no %s", field)
		}
	}
	if logo, ok := body["logo_uri"]; ok {
		t.Errorf("the client's logo is %v, and it has none", logo)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Error("a cache may keep the secret")
	}
}

func TestRegister_BasicBecomesPost(t *testing.T) {
	r := registers(t, `{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"client_secret_basic"}`)
	if got := r.Text(t, "token_endpoint_auth_method"); got != "client_secret_post" {
		t.Error(got)
	}
}

func TestRegister_Empty(t *testing.T) {
	many := strings.Split(strings.Repeat("https://a.example/cb ", 11), " ")[:11]
	long := "https://a.example/" + strings.Repeat("a", 500)
	registers(t, `{}`, uris(), uris(""), uris(many...), uris(long), uris(long[:500], long[:500], long[:500], long[:500], long[:500]))
}

func TestRegister_PortsThatAreNone(t *testing.T) {
	registers(t, each("http://localhost:65536/cb", "http://127.0.0.1:000000/", "https://a.example:00443/cb")...)
}

func TestRegister_HTTPRemote(t *testing.T) {
	registers(t, each("http://a.example/cb", "http://10.0.0.1/cb", "http://[2001:db8::1]/", "http://0.0.0.0/", "http://127.1/", "http://2130706433/", "http:///cb")...)
}

func TestRegister_LocalhostSuffix(t *testing.T) {
	registers(t, each("http://localhost.a.example/cb", "http://127.0.0.1.a.example/", "http://localhosta/", "http://a.localhost/", "http://localhost./")...)
}

func TestRegister_Userinfo(t *testing.T) {
	registers(t, each("https://user@a.example/cb", "https://user:pw@a.example/", "http://localhost@a.example/", "http://a.example@localhost/", "https://@a.example/")...)
}

func TestRegister_Fragment(t *testing.T) {
	registers(t, each("https://a.example/cb#x", "https://a.example/cb#", "com.example:/#x")...)
}

func TestRegister_JavascriptDataFile(t *testing.T) {
	registers(t, each("javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "file:///etc/passwd", "blob:https://a.example/x",
		"about:blank", "view-source:https://a.example", "ftp://a.example/", "ws://localhost/", "mailto:a@a.example", "unknown://x", "/callback", "//a.example/cb", "callback")...)
}

func TestRegister_CRLF(t *testing.T) {
	registers(t, each(`https://a.example/cb\r\nSet-Cookie: a=b`, `https://a.example/\n`, `https://a.example/a b`, `https://a.example\\@b.example/`,
		`https://b\u00fccher.example/`, `\thttps://a.example/`, `https://a.example/\u0000`, `https://a.example/%zz`,
		`https://a.example/?code=c`, `https://a.example/?state=s`, `https://a.example/?a=b&iss=i`, `https://a.example/?error=e`)...)
}

func TestRegister_ResponseTypeToken(t *testing.T) {
	registers(t, `{"redirect_uris":["https://a.example/cb"],"response_types":["token"]}`)
}

func TestRegister_ClientCredentialsOnly(t *testing.T) {
	registers(t, `{"redirect_uris":["https://a.example/cb"],"grant_types":["client_credentials"]}`)
}

func TestRegister_BadJSON(t *testing.T) {
	registers(t, ``, `{`, `[]`, `"x"`, `{"redirect_uris":"https://a.example/cb"}`, `{"redirect_uris":[1]}`, `{"redirect_uris":["https://a.example/cb"],"client_name":5}`, uris("https://a.example/cb")+`x`)
}

func TestRegister_Oversize(t *testing.T) {
	registers(t, `{"redirect_uris":["https://a.example/cb"],"x":"`+strings.Repeat("x", 16<<10)+`"}`)
}

func TestRegister_ContentType(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		Documented(t, s.Do(http.MethodPost, "/register", kind, uris("https://a.example/cb"), nil))
	}
}

func TestRegister_RateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a second more is a registration more
		s := New(t, nil)
		for range 60 {
			s.Register(uris("https://a.example/cb"))
		}
		r := s.PostRegister(uris("https://a.example/cb"))
		Documented(t, r)
		if r.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
		}
		time.Sleep(time.Second)
		s.Register(uris("https://a.example/cb"))
	})
}

// TestRegister_FloodFlatMemory is not parallel: it measures the process.
func TestRegister_FloodFlatMemory(t *testing.T) { //nolint:paralleltest // it measures the process
	floods := longtest.Pick(10_000, 200_000)
	s := New(t, func(c *oauth.Config) {
		c.Limits.Register = oauth.Rate{Burst: 1 << 30, Every: 1}
		c.Log = slog.New(slog.DiscardHandler)
	})
	body := `{"client_name":"flood","redirect_uris":["https://a.example/cb","http://localhost:1/cb"]}`
	flood := func(n int) {
		for range n {
			if r := s.PostRegister(body); r.Status != http.StatusCreated {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
	}
	flood(floods / 20)
	heap, resident := memory(t)
	flood(floods)
	heapNow, residentNow := memory(t)
	heap, resident = heapNow-heap, residentNow-resident
	t.Logf("%d registrations: the heap grew by %d KiB, resident memory by %d KiB", floods, heap>>10, resident>>10)
	// The heap may not hold 26 bytes of each. What the system counts goes up and down
	// by more than so few of them, and with the race detector most of it is not ours.
	if limit := int64(floods) * (5 << 20) / 200_000; heap > limit {
		t.Errorf("the heap grew by %d bytes, want less than %d", heap, limit)
	}
	if limit := int64(5 << 20); resident > limit && longtest.On() && !raceDetector {
		t.Errorf("resident memory grew by %d bytes, want less than %d", resident, limit)
	}
	Documented(t, s.PostRegister(body))
}

// memory returns the bytes of the heap that are in use, and the memory that the system
// counts, after giving back what is free; 0 where the system does not say.
func memory(t *testing.T) (heap, resident int64) {
	t.Helper()
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what a pool keeps goes with the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return int64(m.HeapAlloc), 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(m.HeapAlloc), pages * int64(os.Getpagesize())
}

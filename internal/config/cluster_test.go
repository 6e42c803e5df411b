package config

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLoad_NATSRefusals(t *testing.T) {
	t.Parallel()
	const (
		serve = "--serve"
		nats  = "--nats-url=nats://127.0.0.1:4222"
		owner = "CANDELA_OWNER_PASSWORD=a passphrase of the owner"
	)
	cases := starts{
		"a server":                             {args: []string{serve, nats}, env: []string{owner}},
		"several servers":                      {args: []string{serve, "--nats-url=nats://a.example:4222, tls://b.example:4222"}, env: []string{owner}},
		"several servers in the file":          {file: `nats_url = ["tls://a.example", "tls://b.example"]`, args: []string{serve}, env: []string{owner}},
		"with orders":                          {args: []string{"--trade", nats}, env: []string{owner}},
		"everyone let in on this machine":      {args: []string{serve, nats, "--oauth-auto-approve"}},
		"no passphrase":                        {args: []string{serve, nats}, want: "needs a passphrase that is the same at every replica"},
		"over stdio":                           {args: []string{"--mcp", nats}, want: "has no effect in this mode (--mcp)"},
		"over stdio for other days":            {args: []string{"--mcp"}, env: []string{"CANDELA_NATS_URL=nats://a.example"}},
		"over stdio with alerts":               {args: []string{"--mcp", "--trade"}, env: []string{"CANDELA_NATS_URL=nats://a.example"}, want: "is for --serve"},
		"for a chart":                          {args: []string{nats}, want: "has no effect in this mode (one chart)"},
		"an address of another kind":           {args: []string{serve, "--nats-url=http://a.example"}, env: []string{owner}, want: "nats://host:port or tls://host:port"},
		"an address without a scheme":          {args: []string{serve, "--nats-url=a.example:4222"}, env: []string{owner}, want: "nats://host:port"},
		"an address with a path":               {args: []string{serve, "--nats-url=nats://a.example/x"}, env: []string{owner}, want: "nats://host:port"},
		"a password in the address":            {args: []string{serve, "--nats-url=nats://me:hunter2@a.example"}, env: []string{owner}, want: `"(hidden)" is not allowed`},
		"no address between commas":            {args: []string{serve, "--nats-url=nats://a.example,,"}, env: []string{owner}, want: "separated by commas"},
		"a prefix that is no word":             {args: []string{serve, nats, "--nats-prefix=a.b"}, env: []string{owner}, want: "1 to 64 letters, digits, - and _"},
		"a certificate without its key":        {args: []string{serve, nats, "--nats-cert=" + openFile(t)}, env: []string{owner}, want: "belong together"},
		"a prefix without servers":             {args: []string{serve, "--nats-prefix=x"}, want: "--nats-prefix has no effect without --nats-url"},
		"authorities without servers":          {args: []string{serve, "--nats-ca=x"}, want: "--nats-ca has no effect without --nats-url"},
		"authorities for other days":           {args: []string{serve}, env: []string{"CANDELA_NATS_CA=x"}},
		"one server without servers":           {args: []string{serve, "--nats-allow-single"}, want: "has no effect without --nats-url"},
		"authorities that are not there":       {args: []string{serve, nats, "--nats-ca=gone.pem"}, env: []string{owner}, want: "gone.pem: no such file"},
		"credentials that are not there":       {args: []string{serve, nats, "--nats-credentials-file=gone.creds"}, env: []string{owner}, want: "gone.creds: no such file"},
		"credentials that are there, and open": {args: []string{serve, nats, "--nats-credentials-file=" + openFile(t)}, env: []string{owner}, want: "chmod 600"},
	}
	if runtime.GOOS == "windows" { // it has neither these words nor these bits
		maps.DeleteFunc(cases, func(name string, _ start) bool {
			return strings.Contains(name, "credentials") || strings.Contains(name, "authorities")
		})
	}
	cases.check(t)
}

// openFile returns a file that others can read.
func openFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "open.creds")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

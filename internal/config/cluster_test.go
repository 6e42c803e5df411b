package config

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	remote := []string{"--nats-ca=" + caFile(t), "--nats-credentials-file=" + secretFile(t, "x")}
	secret := "--cluster-secret-file=" + secretFile(t, goodSecret)
	with := func(args ...string) []string { return slices.Concat([]string{serve, secret}, args) }
	cases := starts{
		"a server":                             {args: with(nats), env: []string{owner}},
		"several servers":                      {args: with(append(remote, "--nats-url=nats://a.example:4222, tls://b.example:4222")...), env: []string{owner}},
		"several servers in the file":          {file: `nats_url = ["tls://a.example", "tls://b.example"]`, args: with(remote...), env: []string{owner}},
		"with orders":                          {args: []string{"--trade", nats, secret}, env: []string{owner}},
		"everyone let in on this machine":      {args: with(nats, "--oauth-auto-approve")},
		"no passphrase":                        {args: with(nats), want: "needs a passphrase that is the same at every replica"},
		"no secret":                            {args: []string{serve, nats}, env: []string{owner}, want: "needs --cluster-secret-file"},
		"a secret from the environment":        {args: []string{serve, nats}, env: []string{owner, "CANDELA_CLUSTER_SECRET_FILE=" + secretFile(t, goodSecret)}},
		"a secret that is short":               {args: []string{serve, nats, "--cluster-secret-file=" + secretFile(t, "00ff00ff")}, env: []string{owner}, want: "it has 4 bytes and needs 32: make one with openssl rand -hex 32"},
		"a secret that is not random":          {args: []string{serve, nats, "--cluster-secret-file=" + secretFile(t, strings.Repeat("ab", 32))}, env: []string{owner}, want: "it is not random"},
		"a secret that others can read":        {args: []string{serve, nats, "--cluster-secret-file=" + openFile(t)}, env: []string{owner}, want: "chmod 600"},
		"a secret without servers":             {args: []string{serve, secret}, want: "--cluster-secret-file has no effect without --nats-url"},
		"elsewhere in the clear":               {args: with("--nats-url=nats://192.0.2.10:4222"), env: []string{owner}, want: "nats://192.0.2.10:4222 is not on this machine and needs TLS (tls:// or --nats-ca) and a login"},
		"elsewhere without a login":            {args: with("--nats-url=tls://192.0.2.10:4222"), env: []string{owner}, want: "needs a login (--nats-credentials-file, or --nats-cert and --nats-key)"},
		"one of two elsewhere in the clear":    {args: with("--nats-url=nats://localhost,nats://192.0.2.10", "--nats-credentials-file="+secretFile(t, "x")), env: []string{owner}, want: "nats://192.0.2.10 is not on this machine and needs TLS"},
		"over stdio":                           {args: []string{"--mcp", nats}, want: "has no effect in this mode (--mcp)"},
		"over stdio for other days":            {args: []string{"--mcp"}, env: []string{"CANDELA_NATS_URL=nats://a.example"}},
		"over stdio with alerts":               {args: []string{"--mcp", "--trade"}, env: []string{"CANDELA_NATS_URL=nats://a.example"}, want: "is for --serve"},
		"for a chart":                          {args: []string{nats}, want: "has no effect in this mode (one chart)"},
		"an address of another kind":           {args: with("--nats-url=http://a.example"), env: []string{owner}, want: "nats://host:port or tls://host:port"},
		"an address without a scheme":          {args: with("--nats-url=a.example:4222"), env: []string{owner}, want: "nats://host:port"},
		"an address with a path":               {args: with("--nats-url=nats://a.example/x"), env: []string{owner}, want: "nats://host:port"},
		"a password in the address":            {args: with("--nats-url=nats://me:hunter2@a.example"), env: []string{owner}, want: `invalid value "(hidden)"`},
		"no address between commas":            {args: with("--nats-url=nats://a.example,,"), env: []string{owner}, want: "separated by commas"},
		"a prefix that is no word":             {args: with(nats, "--nats-prefix=a.b"), env: []string{owner}, want: "1 to 64 letters, digits, - and _"},
		"a certificate without its key":        {args: with(nats, "--nats-cert="+openFile(t)), env: []string{owner}, want: "belong together"},
		"a prefix without servers":             {args: []string{serve, "--nats-prefix=x"}, want: "--nats-prefix has no effect without --nats-url"},
		"authorities without servers":          {args: []string{serve, "--nats-ca=x"}, want: "--nats-ca has no effect without --nats-url"},
		"authorities for other days":           {args: []string{serve}, env: []string{"CANDELA_NATS_CA=x"}},
		"one server without servers":           {args: []string{serve, "--nats-allow-single"}, want: "has no effect without --nats-url"},
		"authorities that are not there":       {args: with(nats, "--nats-ca=gone.pem"), env: []string{owner}, want: "gone.pem: no such file"},
		"credentials that are not there":       {args: with(nats, "--nats-credentials-file=gone.creds"), env: []string{owner}, want: "gone.creds: no such file"},
		"credentials that are there, and open": {args: with(nats, "--nats-credentials-file="+openFile(t)), env: []string{owner}, want: "chmod 600"},
	}
	if runtime.GOOS == "windows" { // it has neither these words nor these bits
		maps.DeleteFunc(cases, func(name string, _ start) bool {
			return strings.Contains(name, "secret") || strings.Contains(name, "credentials") || strings.Contains(name, "authorities")
		})
	}
	cases.check(t)
}

const goodSecret = "9f4a1c0be27d538660f1e2a3b4c5d6978890aabbccddeeff0123456789abcdef\n"

// secretFile returns a file that nobody else can read.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// caFile returns a file that is there.
func caFile(t *testing.T) string {
	t.Helper()
	return secretFile(t, "x")
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

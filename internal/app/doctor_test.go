package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/operate/doctor"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/statedir"
	"candela/internal/testkit/fake"
	fakebinance "candela/internal/testkit/fake/binance"
	fakecoinbase "candela/internal/testkit/fake/coinbase"
	fakekraken "candela/internal/testkit/fake/kraken"
	fakeyahoo "candela/internal/testkit/fake/yahoo"
	"candela/internal/testkit/porttest"
)

// patient is an installation for the doctor, sound until something is done to it.
type patient struct {
	t           *testing.T
	home        string
	port        string
	binance     *fakebinance.Server
	faults      fake.Faults
	args        []string
	environ     []string
	first       time.Duration // how long the first event may take; 0 for the usual time
	noDocuments error         // why no document of a client can be read
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{t: t, home: filepath.Join(shortDir(t), "home"), port: porttest.Free(t)}
	if err := os.Mkdir(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	p.binance = fakebinance.New(fakebinance.Config{})
	p.args = []string{
		"--serve", "--home", p.home, "--port", p.port, "--shutdown-timeout", "5m",
		"--binance-url", p.web(p.faults.Wrap(p.binance)), "--coinbase-url", p.web(fakecoinbase.New(fakecoinbase.Config{})),
		"--kraken-url", p.web(fakekraken.New(fakekraken.Config{})), "--yahoo-url", p.web(fakeyahoo.New(fakeyahoo.Config{Now: time.Now})),
	}
	p.environ = []string{"CANDELA_OWNER_PASSWORD=" + oauthtest.Passphrase}
	return p
}

// web serves a handler on the loopback.
func (p *patient) web(h http.Handler) string {
	s := httptest.NewServer(h)
	p.t.Cleanup(s.Close)
	return s.URL
}

// file writes a file into the state directory.
func (p *patient) file(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.home, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// trades lets orders go to Binance, with keys.
func (p *patient) trades(keys ...string) {
	p.args = append(p.args, "--trade", "--broker=binance", "--binance-trade-url", p.args[slices.Index(p.args, "--binance-url")+1])
	p.environ = append(p.environ, keys...)
}

// start runs the server until the test ends, with the arguments as they are now.
func (p *patient) start() {
	p.t.Helper()
	environ := p.environ
	if len(environ) > 0 {
		hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost()) // which is soon compared
		if err != nil {
			p.t.Fatal(err)
		}
		environ = append(slices.Clone(environ), "CANDELA_OWNER_PASSWORD="+hash)
	}
	cfg, err := LoadConfig(config.Input{Args: p.args, Environ: environ})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() {
		done <- Run(ctx, cfg, Deps{Version: "v1", Stderr: &signalOn{text: "msg=ready", found: ready, to: io.Discard}, Services: Wired(), keepAlive: beat})
	}()
	p.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- err
		p.t.Fatal(err)
	}
}

// proxy returns the address of a proxy in front of the server. A buffering one hands
// an answer on when it is whole.
func (p *patient) proxy(buffers bool) string {
	to := &url.URL{Scheme: "http", Host: "127.0.0.1:" + p.port}
	alone := &http.Transport{DisableKeepAlives: true} // of no other test's server at the same port
	straight := httputil.NewSingleHostReverseProxy(to)
	straight.Transport, straight.FlushInterval = alone, -1
	if !buffers {
		return p.web(straight)
	}
	client := &http.Client{Transport: alone, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := r.Clone(r.Context())
		req.URL.Scheme, req.URL.Host, req.RequestURI = to.Scheme, to.Host, ""
		resp, err := client.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close() //nolint:errcheck // only read
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return
		}
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body)
	}))
}

// examine lets the doctor look.
func (p *patient) examine() []doctor.Finding {
	var all []doctor.Finding
	RunDoctor(p.t.Context(), config.Input{Args: p.args, Environ: p.environ}, Deps{Version: "v1", Services: Wired()},
		doctor.Options{
			FirstByte: p.first, Report: func(f doctor.Finding) { all = append(all, f) }, Waiting: func(string) {},
			Documents: func(*config.Config) oauth.Documents { return documents{p.noDocuments} },
		})
	return all
}

// documents stands for the documents of the internet, or for none.
type documents struct{ err error }

func (d documents) Document(context.Context, string, netip.Addr) (cimd.Document, error) {
	return cimd.Document{}, d.err
}

// oldNATS is a server of NATS 2.11, as far as a client sees before it sends anything.
func oldNATS(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // a fake
				fmt.Fprintf(conn, "INFO {\"server_id\":\"old\",\"version\":\"2.11.4\",\"proto\":1,\"headers\":true,\"max_payload\":1048576,\"jetstream\":true}\r\n")
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "PING") {
						fmt.Fprint(conn, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + ln.Addr().String()
}

// Every broken set-up is named, with what to do, and nothing else is said to be
// wrong.
func TestExamine_BrokenSetUps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		breaks    func(*patient)
		check     string
		what, fix string
	}{
		"wrong base URL: another program is there": {func(p *patient) {
			p.args = append(p.args, "--base-url", p.web(http.NotFoundHandler()))
			p.start()
		}, "base URL", "is not candela (HTTP 404)", "set --base-url to the address under which the proxy shows candela"},
		"wrong base URL: the server was started with another": {func(p *patient) {
			address := p.proxy(false)
			p.start()
			p.args = append(p.args, "--base-url", address)
		}, "base URL", "calls itself \"http://localhost:", "start the server with --base-url http://127.0.0.1:"},
		"wrong base URL: nothing is behind the proxy": {func(p *patient) {
			p.args = append(p.args, "--base-url", p.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })))
			p.start()
		}, "base URL", "reaches nothing behind it (HTTP 502)", "point the proxy at the address that candela listens on"},
		"a certificate that nobody trusts": {func(p *patient) {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)
			s.StartTLS()
			p.t.Cleanup(s.Close)
			p.args = append(p.args, "--base-url", s.URL)
			p.start()
		}, "base URL", "signed by nobody that this machine trusts", "Caddy and certbot get one"},
		"buffering proxy": {func(p *patient) {
			p.args = append(p.args, "--base-url", p.proxy(true))
			p.first = 10 * time.Second // past the proxy the first must come within as long
			p.start()
		}, "events", "the proxy holds them back", "proxy_buffering off in nginx, flush_interval -1 in Caddy"},
		"missing passphrase": {func(p *patient) {
			p.environ = nil
			p.args = append(p.args, "--base-url", "https://charts.example.com")
		}, "passphrase", "none is set, and others can reach https://charts.example.com", "candela auth hash-password > FILE"},
		"no way to the documents of clients": {func(p *patient) {
			p.args, p.noDocuments = append(p.args, "--base-url", "https://charts.example.com"), cimd.ErrUnreached
		}, "client documents", "such as Claude Code, cannot connect", "set --cimd off"},
		"missing passphrase: its file is not there": {func(p *patient) {
			p.environ = nil
			p.args = append(p.args, "--owner-password-file", filepath.Join(p.home, "passphrase"))
		}, "configuration", "no such file", "create the passphrase file: candela auth hash-password > FILE"},
		"read-only state directory": {func(p *patient) {
			if err := os.Chmod(p.home, 0o500); err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { _ = os.Chmod(p.home, 0o700) })
		}, "state directory", "is read-only (-r-x------)", "chmod 700 "},
		"state directory open to others": {func(p *patient) {
			if err := os.Chmod(p.home, 0o755); err != nil {
				p.t.Fatal(err)
			}
		}, "state directory", "is open to other users (drwxr-xr-x)", "chmod 700 "},
		"clock skew": {func(p *patient) {
			p.binance.SetSkew(90 * time.Second)
			for _, flag := range []string{"--coinbase-url", "--kraken-url"} { // whose clocks are right
				p.args[slices.Index(p.args, flag)+1] = "http://127.0.0.1:1"
			}
		}, "clock", "this machine's clock is 1m30s behind by binance", "timedatectl set-ntp true"},
		"venue 451": {func(p *patient) {
			p.faults.Always(&fake.Fault{Status: http.StatusUnavailableForLegalReasons, Body: `{"msg":"restricted"}`})
		}, "venue binance", "from this region (HTTP 451)", "--crypto-venue coinbase or kraken"},
		"venue 429": {func(p *patient) {
			p.faults.Always(&fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: 30 * time.Second, Body: `{}`})
		}, "venue binance", "it asked for a pause; try again in ", "wait as long as it says"},
		"bad policy": {func(p *patient) {
			p.file(statedir.PolicyName, "max_daily_los = 100\n")
		}, "policy", "max_daily_los", "candela policy check explains every rule"},
		"port taken": {func(p *patient) {
			var listen net.ListenConfig
			ln, err := listen.Listen(p.t.Context(), "tcp", "127.0.0.1:"+p.port)
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { _ = ln.Close() })
		}, "port", "is taken by another program", "or choose another --port"},
		"corrupt store": {func(p *patient) {
			p.file(ledger.FileName, "SQLite format 3\x00 and then nothing that it should have"+strings.Repeat("x", 4096))
		}, "store", "it cannot be", "candela restore FOLDER"},
		"old NATS": {func(p *patient) {
			p.args = append(p.args, "--nats-url", oldNATS(p.t), "--cluster-secret-file", natstest.SecretFile(p.t))
		}, "NATS", `version "2.11.4" is not supported. Use 2.12 or later.`, "update every NATS server of the cluster to 2.12 or later"},
		"keys of another account": {func(p *patient) {
			p.trades("CANDELA_BINANCE_API_KEY=nonsense", "CANDELA_BINANCE_API_SECRET=nonsense")
		}, "account", "binance: ", "check that the keys belong to this account and network"},
		"the clock of the venue that orders go to": {func(p *patient) {
			p.trades("CANDELA_BINANCE_API_KEY="+fakebinance.Key, "CANDELA_BINANCE_API_SECRET="+fakebinance.Secret)
			p.binance.SetSkew(3 * time.Second)
		}, "clock", "differs by 3s from that of binance, where orders go", "synchronize it"},
		"no NATS": {func(p *patient) {
			p.args = append(p.args, "--nats-url", "nats://127.0.0.1:1", "--cluster-secret-file", natstest.SecretFile(p.t))
		}, "NATS", "Cannot connect to NATS", "start the servers"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && tt.check == "state directory" {
				t.Skip("Windows has no such bits")
			}
			p := newPatient(t)
			tt.breaks(p)
			found := false
			for _, f := range p.examine() {
				switch {
				case f.Status != doctor.OK && f.Fix == "":
					t.Errorf("no fix: %+v", f)
				case f.Status != doctor.Problem:
				case f.Check == tt.check && strings.Contains(f.What, tt.what) && strings.Contains(f.Fix, tt.fix):
					found = true
				default:
					t.Errorf("%+v", f)
				}
				if _, text, ok := strings.Cut(f.What, "try again in "); ok {
					pause, err := time.ParseDuration(strings.TrimRight(strings.Fields(text)[0], ".,;"))
					if err != nil || pause < time.Second || pause > 30*time.Second { // the pause began a while ago
						t.Errorf("the venue asks for a pause of 30 s: %+v, %v", f, err)
					}
				}
				if strings.Contains(f.What+f.Fix, oauthtest.Passphrase) {
					t.Errorf("the passphrase is in %+v", f)
				}
			}
			if !found {
				t.Errorf("%s is not named", tt.check)
			}
		})
	}
}

// A sound installation behind a proxy that passes events on has no problem, and the
// doctor leaves nothing behind: neither a client that is let in nor a file.
func TestExamine_SoundBehindAProxy(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.args = append(p.args, "--trade", "--base-url", p.proxy(false))
	p.first = 30 * time.Second // on a machine that does much else
	p.start()
	before := files(t, p.home)
	for _, f := range p.examine() {
		if f.Status != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	clients, err := control.Clients(t.Context(), p.home, "")
	if err != nil || len(clients) != 0 {
		t.Errorf("%+v, %v", clients, err)
	}
	if after := files(t, p.home); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}

// Without a server nothing is made either.
func TestExamine_MakesNothing(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	if err := os.Remove(p.home); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.examine() {
		if f.Status == doctor.Problem {
			t.Errorf("%+v", f)
		}
	}
	if _, err := os.Stat(p.home); err == nil {
		t.Error("the state directory was made")
	}
}

// files lists a folder with what may not change.
func files(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range all {
		if strings.HasPrefix(e.Name(), ledger.FileName+"-") || e.Name() == statedir.SubscriptionsName {
			continue // the server's own: its log, and who listened
		}
		fmt.Fprintln(&b, e.Name(), e.Type())
	}
	return b.String()
}

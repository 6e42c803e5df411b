package alerts

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/e2e/build"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/table"
	"candela/internal/testkit/porttest"
)

// heavy is a script that takes long on each bar, within its budget. Its line never comes near the alert's value.
const heavy = `//@version=6
indicator("Heavy")
sum = 0.0
for i = 0 to 20000
    sum += math.sin(i + close)
plot(sum, "Sum")
`

// bomb is a program with a stored alert on a heavy script, and one on the price.
type bomb struct {
	*testing.T

	ctx         context.Context
	home        string
	args        []string
	port        string
	p           *program
	c           *visitor
	id, another string
}

// begin starts the program and lets a client in.
func (b *bomb) begin() {
	b.Helper()
	b.p = start(b.T, append([]string{"--serve", "--trade", "--home", b.home, "--port", b.port, "--oauth-auto-approve"}, b.args...)...)
	if b.c = enter(b.ctx, b.ctx, "http://localhost:"+b.port); b.c == nil {
		b.Fatalf("no client is let in: %s", b.p.stderr)
	}
}

// set saves the script and sets the alerts.
func (b *bomb) set() {
	b.Helper()
	source, err := json.Marshal(heavy)
	if err != nil {
		b.Fatal(err)
	}
	must(b.T, b.c, "save_script", `{"name":"heavy","source":`+string(source)+`}`)
	read := func(arguments string) string {
		b.Helper()
		var a answered
		answer := must(b.T, b.c, "set_alert", arguments)
		if err := json.Unmarshal(answer, &a); err != nil || a.ID == "" {
			b.Fatalf("%v %s", err, answer)
		}
		return a.ID
	}
	b.id = read(`{"symbol":"` + watched + `","interval":"1m","condition":{"value":{"indicator":{"name":"heavy"},"line":"Sum","op":">","value":1000000000}}}`)
	b.another = read(`{"symbol":"` + watched + `","condition":{"price_above":1000000000}}`)
}

// dieWhile kills the program while something is so. It is stopped before that is checked for the last time.
func (b *bomb) dieWhile(evaluates func() bool) {
	b.Helper()
	for {
		if b.ctx.Err() != nil {
			b.Fatalf("the script was never in evaluation: %s", b.p.stderr)
		}
		if !evaluates() {
			pause(b.ctx, time.Millisecond)
			continue
		}
		b.signal(sigStop)
		for !strings.Contains(b.state(), "T (stopped)") && b.ctx.Err() == nil {
			pause(b.ctx, time.Millisecond)
		}
		if evaluates() {
			break
		}
		b.signal(sigCont)
	}
	b.p.kill(b.T)
	b.c.close()
}

func (b *bomb) signal(s syscall.Signal) {
	b.Helper()
	if err := b.p.cmd.Process.Signal(s); err != nil {
		b.Fatal(err)
	}
}

// state returns what the system says about the process.
func (b *bomb) state() string {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(b.p.cmd.Process.Pid) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// wantList waits until list_alerts says what it should: whether the heavy alert is there and set aside. A replica
// sets it aside when it knows that the one before has died, which takes seconds.
func (b *bomb) wantList(there, aside bool) {
	b.Helper()
	var said []byte
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); pause(b.ctx, 100*time.Millisecond) {
		said = must(b.T, b.c, "list_alerts", `{}`)
		if b.listed(said, there, aside) {
			return
		}
	}
	b.Fatalf("the alert is not there (%v) and set aside (%v): %s", there, aside, said)
}

// listed reports whether a list has the other alert as it was, and the heavy one as it should be.
func (b *bomb) listed(said []byte, there, aside bool) bool {
	b.Helper()
	var list []struct {
		ID    string          `json:"alert_id"`
		Aside json.RawMessage `json:"set_aside"`
	}
	if err := json.Unmarshal(said, &list); err != nil {
		b.Fatal(err)
	}
	found := map[string]bool{}
	for _, a := range list {
		found[a.ID] = true
		if (a.Aside != nil) != (aside && a.ID == b.id) {
			return false
		}
	}
	return found[b.id] == there && found[b.another]
}

// command runs the program for one command of the owner.
func (b *bomb) command(args ...string) string {
	b.Helper()
	cmd := exec.CommandContext(b.ctx, binary(b.T), append(args, "--home", b.home)...)
	cmd.Env = []string{"HOME=" + b.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// repaired checks that the program serves, that the alert is set aside, and that commands resume and remove it.
func (b *bomb) repaired(evaluates func() bool) {
	b.Helper()
	b.wantList(true, true)
	must(b.T, b.c, "generate_chart", `{"symbol":"`+watched+`","interval":"1m","bars":30}`)
	if out := b.command("alerts", "list"); !regexp.MustCompile(b.id + `.*set aside`).MatchString(strings.ReplaceAll(out, "set_aside", "set aside")) {
		b.Errorf("alerts list says %s", out)
	}
	b.command("alerts", "resume", b.id)
	b.wantList(true, false)
	b.dieWhile(evaluates)
	b.begin()
	b.wantList(true, true)
	b.command("alerts", "cancel", b.id)
	b.wantList(false, false)
	b.c.close()
	b.p.term(b.T)
	b.begin()
	b.wantList(false, false)
	b.c.close()
	b.p.term(b.T)
}

func newBomb(t *testing.T, ctx context.Context, args ...string) *bomb { //nolint:revive // a test comes first
	t.Helper()
	b := &bomb{T: t, ctx: ctx, home: build.Home(t), port: porttest.Free(t), args: append([]string{"--toolsets", "scripts"}, args...)}
	b.begin() //nolint:contextcheck // the program ends with the test
	b.set()
	return b
}

// inFile reports whether the file of the state directory names a script in evaluation.
func (b *bomb) inFile() bool {
	text, err := os.ReadFile(filepath.Join(b.home, "evaluating"))
	return err == nil && regexp.MustCompile(`[0-9a-f]{64}\n`).Match(text)
}

// TestBomb_IsSetAsideAfterADeath kills the program while it evaluates the script of a stored alert, as a script
// that ends the process would: the next start serves, lists the alert as set aside, and a command removes it.
func TestBomb_IsSetAsideAfterADeath(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	b := newBomb(t, ctx, "--binance-url", newVenue(t))
	b.dieWhile(b.inFile)
	verify(t, b.home)
	b.begin()
	b.repaired(b.inFile)
	verify(t, b.home)
}

// TestBomb_IsSetAsideByReplicas migrates an alert on a script to NATS servers and kills the replica that evaluates
// it. The next one sets it aside.
func TestBomb_IsSetAsideByReplicas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	venue := newVenue(t)
	b := newBomb(t, ctx, "--binance-url", venue)
	b.c.close()
	b.p.term(t)
	servers, err := natstest.Start(build.Folder(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Stop)
	at := []string{"--nats-url", servers.URL(), "--nats-allow-single", "--cluster-secret-file", natstest.SecretFile(t)}
	b.command(append([]string{"migrate", "--to", "nats"}, at...)...)
	b.args = append([]string{"--binance-url", venue}, at...)
	b.begin()
	evaluates := inStream(t, servers)
	b.dieWhile(evaluates)
	b.begin()
	b.repaired(evaluates)
}

// inStream returns a function which reports whether the record of a replica names a script in evaluation: its last
// message is no tombstone, which expires.
func inStream(t *testing.T, servers *natstest.Cluster) func() bool {
	t.Helper()
	nc, err := nats.Connect(servers.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	subject := "*." + table.StateKind + "." + conn.EncodeToken("evaluating") + ".>"
	return func() bool {
		for name := range js.StreamNames(t.Context()).Name() {
			if !strings.HasSuffix(name, "STATE") {
				continue
			}
			stream, err := js.Stream(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := stream.GetLastMsgForSubject(t.Context(), subject)
			return err == nil && m.Header.Get(jetstream.MsgTTLHeader) == ""
		}
		return false
	}
}

package upgrade

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/porttest"
)

const passphrase = "seven lamps above the stair"

// server is a program that serves many clients and keeps their logins.
type server struct {
	program *exec.Cmd
	over    chan struct{}
	log     bytes.Buffer
}

// serve runs a program on a state directory.
func serve(t *testing.T, binary, home, venue, port string) *server {
	t.Helper()
	s := &server{over: make(chan struct{})}
	s.program = exec.CommandContext(t.Context(), binary, "--serve", "--trade", "--persist-logins", "--port", port, "--home", home)
	s.program.Env = []string{"HOME=" + t.TempDir(), "CANDELA_BINANCE_URL=" + venue, "CANDELA_OWNER_PASSWORD=" + passphrase}
	s.program.Stderr = &s.log
	if err := s.program.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.program.Wait() // the caller says how it ends
		close(s.over)
	}()
	return s
}

// stop ends it as a service manager does.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	<-s.over
	if !s.program.ProcessState.Success() {
		t.Errorf("it ended with %v\n%s", s.program.ProcessState, s.log.String())
	}
}

// keys returns the keys of receipts.
func keys(t *testing.T, binary, home string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "receipt", "key", "--json", "--home", home).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestUpgrade_GoesOnWhereTheEarlierProgramStopped logs a client in at an earlier program and lets an alert fire that nobody
// fetches. Today's program knows the same token, has the firing, and signs receipts with the same key. Without -program the
// earlier one is today's.
func TestUpgrade_GoesOnWhereTheEarlierProgramStopped(t *testing.T) {
	t.Parallel()
	binary := cmp.Or(*earlier, today)
	help, err := exec.CommandContext(t.Context(), binary, "--help").Output()
	if err != nil || !bytes.Contains(help, []byte("--persist-logins")) || !bytes.Contains(help, []byte("receipt")) {
		t.Logf("that program keeps no logins or signs no receipts: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	home, venue, port := filepath.Join(t.TempDir(), "state"), fakeVenue(t), porttest.Free(t)
	client := &remote.Client{Base: "http://localhost:" + port, Name: "upgrade", Owner: &remote.Owner{Passphrase: passphrase}, HTTP: remote.Plain(&http.Transport{DisableKeepAlives: true})}
	before := serve(t, binary, home, venue, port)
	if err := client.EnterOnceUp(ctx, before.over); err != nil {
		t.Fatalf("%v\n%s", err, before.log.String())
	}
	call := func(tool, arguments string) string {
		t.Helper()
		out, err := client.Call(ctx, tool, arguments)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	call("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":95}`)
	call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1},"note":"left in the queue"}`)
	for strings.Contains(call("list_alerts", "{}"), "left in the queue") { // until it has fired
		time.Sleep(10 * time.Millisecond)
	}
	before.stop(t)
	signed := keys(t, binary, home)

	after := serve(t, today, home, venue, port)
	token := client.Token()
	answers(ctx, t, client, after)
	if got := call("get_notifications", "{}"); !strings.Contains(got, "left in the queue") {
		t.Errorf("the firing that nobody had fetched is gone: %s", got)
	}
	if got := call("get_orders", "{}"); strings.Count(got, `stop_loss`) == 0 {
		t.Errorf("the stop is gone: %s", got)
	}
	if client.Token() != token {
		t.Error("it logged in again")
	}
	if now := keys(t, today, home); now != signed {
		t.Errorf("the keys of receipts are\n%s, they were\n%s", now, signed)
	}
	after.stop(t)
}

// answers waits until a program accepts the client's token.
func answers(ctx context.Context, t *testing.T, client *remote.Client, s *server) {
	t.Helper()
	for {
		_, err := client.Call(ctx, "list_alerts", "{}")
		if err == nil {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.over:
			t.Fatalf("it has ended: %s", s.log.String())
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

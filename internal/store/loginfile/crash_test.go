package loginfile_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/loginfile"
	"candela/internal/testkit/longtest"
)

// childVar names the state directory of a test binary that issues and revokes tokens until
// it is killed.
const childVar = "LOGINFILE_TEST_DIRECTORY"

// plenty is more tokens than it issues.
const plenty = 1 << 20

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		if err := issueForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// issueForever issues tokens and revokes every third, and prints each before and after it.
func issueForever(dir string) error {
	pass, err := oauth.NewOwner(passphrase, oauth.Cost{Memory: 8, Passes: 1, Threads: 1})
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := loginfile.Open(ctx, dir, loginfile.Config{Owner: pass, Most: oauth.OneOwner(plenty), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		now, name := time.Now(), strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(i)
		code := oauth.Code{Hash: oauth.HashOf("code " + name), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
		if err := s.PutCode(ctx, code, now); err != nil {
			return err
		}
		h := oauth.HashOf("token " + name)
		t := oauth.Token{Hash: h, Key: h.Hex(), ID: name, Issued: now, Expires: now.Add(time.Hour), Grant: oauth.Grant{Subject: oauth.SoleOwner}}
		if err := s.Redeem(ctx, code.Hash, t, now); err != nil {
			return err
		}
		fmt.Println("issued", name)
		if i%3 != 0 {
			continue
		}
		fmt.Println("revoking", name)
		if err := s.Revoke(ctx, oauth.SoleOwner, name); err != nil {
			return err
		}
		fmt.Println("revoked", name)
	}
}

// TestCrash_KeepsAnswers kills a process that issues and revokes tokens, at any moment. A
// token whose answer may have gone out is live at the next start, one that was revoked is not.
func TestCrash_KeepsAnswers(t *testing.T) {
	t.Parallel()
	d, last := newDesk(t), map[string]string{}
	for range longtest.Pick(6, 40) {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env, child.Stderr = append(os.Environ(), childVar+"="+d.dir), os.Stderr
		pipe, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines, killAt := bufio.NewScanner(pipe), rand.IntN(40)
		for n := 0; lines.Scan(); n++ { // also what it printed before it was killed
			var verb, name string
			if _, err := fmt.Sscan(lines.Text(), &verb, &name); err != nil {
				t.Fatal(err)
			}
			last[name] = verb
			if n == killAt {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // it was killed
	}
	d.now, d.cfg.Most = time.Now(), oauth.OneOwner(plenty)
	s := d.open()
	for name, verb := range last {
		if got := live(s, oauth.Token{Hash: oauth.HashOf("token " + name)}, d.now); verb != "revoking" && got != (verb == "issued") {
			t.Errorf("%s was %s, and is live: %v", name, verb, got)
		}
	}
	if len(last) == 0 {
		t.Error("no token was issued")
	}
}

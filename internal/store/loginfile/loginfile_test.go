package loginfile_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/storetest"
	"candela/internal/store/loginfile"
	"candela/lib/fault"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

const passphrase = "correct horse battery"

func owner(tb testing.TB, passphrase string) *oauth.Passphrase {
	tb.Helper()
	p, err := oauth.NewOwner(passphrase, oauth.Cost{Memory: 8, Passes: 1, Threads: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// desk is a state directory whose store is opened again and again, at a time that the test
// sets.
type desk struct {
	testing.TB
	dir string
	now time.Time
	cfg loginfile.Config
	log bytes.Buffer
}

func newDesk(tb testing.TB) *desk {
	tb.Helper()
	d := &desk{TB: tb, dir: tb.TempDir(), now: start()}
	d.cfg = loginfile.Config{
		Owner: owner(tb, passphrase), Most: oauth.OneOwner(100), Now: func() time.Time { return d.now }, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	}
	return d
}

// open starts a store as a server does: it writes its files before it serves.
func (d *desk) open() *loginfile.Store {
	d.Helper()
	s, err := loginfile.Open(d.Context(), d.dir, d.cfg)
	if err != nil {
		d.Fatal(err)
	}
	d.write(s)
	return s
}

func (d *desk) write(s *loginfile.Store) {
	d.Helper()
	ctx, stop := context.WithCancel(d.Context())
	if err := s.Run(ctx, stop); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) read(name string) []byte {
	d.Helper()
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		d.Fatal(err)
	}
	return data
}

// issue redeems a code for a token.
func issue(tb testing.TB, s oauth.Store, name string, at time.Time) oauth.Token {
	tb.Helper()
	code := oauth.Code{Hash: oauth.HashOf("code " + name), Generation: s.Seal().Generation(), Expires: at.Add(oauth.CodeTTL)}
	if err := s.PutCode(tb.Context(), code, at); err != nil {
		tb.Fatal(err)
	}
	h := oauth.HashOf("token " + name)
	t := oauth.Token{
		Hash: h, Key: h.Hex(), ID: name, Generation: code.Generation, Issued: at, Expires: at.Add(36*time.Hour + 7*time.Second),
		Grant: oauth.Grant{Subject: oauth.SoleOwner, ClientName: "a client", ClientKey: "key", Scope: "read", TTL: 36 * time.Hour},
	}
	if err := s.Redeem(tb.Context(), code.Hash, t, at); err != nil {
		tb.Fatal(err)
	}
	return t
}

func live(s *loginfile.Store, t oauth.Token, at time.Time) bool {
	_, err := s.Token(context.Background(), t.Hash, at)
	return err == nil
}

func TestStore_MeetsTheContract(t *testing.T) {
	t.Parallel()
	const tokens = 20
	storetest.Run(t, tokens, func(t *testing.T) oauth.Store {
		t.Helper()
		d := newDesk(t)
		d.cfg.Most = oauth.OneOwner(tokens)
		return d.open()
	})
}

func TestStore_KeepsTokensAndRegistrations(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.open()
	given, clients, seal := issue(t, s, "a", start()), s.ClientKey(), s.Seal()
	login := oauth.Token{
		Hash: oauth.HashOf("cookie"), ID: "login", Generation: seal.Generation(), Issued: start(), Expires: start().Add(time.Hour),
		Grant: oauth.Grant{Login: true, Subject: oauth.SoleOwner},
	}
	if err := s.PutToken(t.Context(), login, start()); err != nil {
		t.Fatal(err)
	}
	d.now = start().Add(time.Hour)
	again := d.open()
	got, err := again.Token(t.Context(), given.Hash, d.now)
	if err != nil {
		t.Fatal(err)
	}
	given.Generation = again.Seal().Generation()
	if diff := cmp.Diff(given, got); diff != "" {
		t.Error(diff)
	}
	if again.ClientKey() != clients {
		t.Error("client ids end with the process")
	}
	if again.Seal() == seal {
		t.Error("forms outlive the process")
	}
	if live(again, login, start()) {
		t.Error("a browser login outlives the process")
	}
	if _, err := again.Code(t.Context(), oauth.HashOf("code a"), start()); !errors.Is(err, oauth.ErrNotFound) {
		t.Error("a code outlives the process:", err)
	}
	if !again.Live(given.Key) || again.Live(login.Hash.Hex()) || again.Live("") || again.Live("zz") {
		t.Error("Live does not know which tokens are live")
	}
	end := given.Expires
	if !live(again, given, end.Add(-time.Nanosecond)) || live(again, given, end) {
		t.Error("the token does not end when it says")
	}
}

func TestStore_WritesBeforeItAnswers(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *loginfile.Store, of oauth.Token) error{
		"revoke": func(s *loginfile.Store, of oauth.Token) error { return s.Revoke(t.Context(), oauth.SoleOwner, of.ID) },
		"replay": func(s *loginfile.Store, _ oauth.Token) error {
			return s.RevokeReplayed(t.Context(), oauth.HashOf("code a"))
		},
		"redeem again": func(s *loginfile.Store, of oauth.Token) error {
			if err := s.Redeem(t.Context(), oauth.HashOf("code a"), of, start()); !errors.Is(err, oauth.ErrReplayed) {
				return err
			}
			return nil
		},
		"revoke all": func(s *loginfile.Store, _ oauth.Token) error { _, err := s.RevokeAll(t.Context(), start()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			s := d.open()
			gone, other, clients := issue(t, s, "a", start()), issue(t, s, "b", start()), s.ClientKey()
			if err := end(s, gone); err != nil {
				t.Fatal(err)
			}
			again := d.open() // nothing was stopped in between
			all := name == "revoke all"
			if live(again, gone, start()) || live(again, other, start()) == all {
				t.Error("the file has other tokens than the server")
			}
			if (again.ClientKey() == clients) == all || again.ClientKey() != s.ClientKey() {
				t.Error("the file has another key than the server")
			}
		})
	}
}

// TestStore_EndsEverythingAtACrash stops between the steps in which a new key is written.
func TestStore_EndsEverythingAtACrash(t *testing.T) {
	t.Parallel()
	for _, missing := range [][]string{{loginfile.FileName}, {loginfile.KeyName}, {loginfile.FileName, loginfile.KeyName}} {
		d := newDesk(t)
		s := d.open()
		tok, clients := issue(t, s, "a", start()), s.ClientKey()
		for _, name := range missing {
			if err := os.Remove(d.path(name)); err != nil {
				t.Fatal(err)
			}
		}
		again := d.open()
		if live(again, tok, start()) || again.ClientKey() == clients {
			t.Errorf("without %v logins are kept", missing)
		}
		if next := issue(t, again, "b", start()); !live(d.open(), next, start()) {
			t.Errorf("without %v nothing is kept any more", missing)
		}
	}
}

func TestStore_EndsLogins(t *testing.T) {
	t.Parallel()
	hash := owner(t, passphrase).Hash()
	for name, c := range map[string]struct {
		change       func(d *desk)
		tokens, keys bool // stay
	}{
		"nothing changed":                   {func(*desk) {}, true, true},
		"the same passphrase, another salt": {func(d *desk) { d.cfg.Owner = owner(d, passphrase) }, true, true},
		"another passphrase":                {func(d *desk) { d.cfg.Owner = owner(d, "another horse battery") }, false, false},
		"a hash of it that is not known":    {func(d *desk) { d.cfg.Owner = owner(d, hash) }, false, false},
		"the clock a minute back":           {func(d *desk) { d.now = start().Add(-time.Minute) }, true, true},
		"the clock more than a minute back": {func(d *desk) { d.now = start().Add(-time.Minute - time.Second) }, false, true},
		"paper, then real money":            {func(d *desk) { d.cfg.Live = "owner/venue/live" }, false, true},
		"the token has expired":             {func(d *desk) { d.now = start().Add(oauth.TokenTTL) }, false, true},
		"fewer tokens are allowed":          {func(d *desk) { d.cfg.Most = oauth.OneOwner(1) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			s := d.open()
			tok, clients := issue(t, s, "a", start()), s.ClientKey()
			c.change(d)
			s = d.open()
			if live(s, tok, d.now) != c.tokens || (s.ClientKey() == clients) != c.keys {
				t.Errorf("tokens are kept: %v, registrations: %v", live(s, tok, d.now), s.ClientKey() == clients)
			}
			if ended := strings.Contains(d.log.String(), "stored logins ended"); ended == c.tokens && name != "the token has expired" {
				t.Errorf("the log says: %s", d.log.String())
			}
			// An ended token stays so, and one that is issued now is kept.
			next := issue(t, s, "b", d.now)
			d.cfg.Owner = owner(t, passphrase)
			if name != "another passphrase" && name != "a hash of it that is not known" {
				if s = d.open(); !live(s, next, d.now) || live(s, tok, d.now) != (c.tokens && d.cfg.Most.Tokens > 1) {
					t.Error("the next start does not keep what this one had")
				}
			}
		})
	}
}

func TestStore_RealMoneyNeedsItsOwnApproval(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.cfg.Live = "a"
	tok := issue(t, d.open(), "a", start())
	if !live(d.open(), tok, start()) {
		t.Error("a restart ended it")
	}
	d.cfg.Live = ""
	if !live(d.open(), tok, start()) {
		t.Error("paper ended it")
	}
	d.cfg.Live = "a"
	if live(d.open(), tok, start()) {
		t.Error("a token that was approved on paper trades with real money")
	}
}

// TestStore_ClockSetBackWhileItRuns ends the tokens at the next look at the clock.
func TestStore_ClockSetBackWhileItRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.open()
	tok := issue(t, s, "a", start())
	d.now = start().Add(2 * time.Hour)
	d.write(s)
	d.now = start().Add(time.Hour)
	d.write(s)
	if live(s, tok, d.now) || live(d.open(), tok, d.now) {
		t.Error("the token is live although the clock was set back")
	}
	if next := issue(t, s, "b", d.now); !live(d.open(), next, d.now) {
		t.Error("nothing is kept after that")
	}
}

func TestRun_DeletesExpiredTokensAndRecordsTheTime(t *testing.T) {
	t.Parallel()
	dir, pass := t.TempDir(), owner(t, passphrase)
	synctest.Test(t, func(t *testing.T) {
		s, err := loginfile.Open(t.Context(), dir, loginfile.Config{Owner: pass, Most: oauth.OneOwner(9), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := s.Run(ctx, func() {}); err != nil {
				t.Error(err)
			}
		})
		read := func() string {
			synctest.Wait()
			data, err := os.ReadFile(filepath.Join(dir, loginfile.FileName))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		read()
		issue(t, s, "a", time.Now())
		first := read()
		time.Sleep(30 * time.Minute)
		if read() != first {
			t.Error("the file is written although nothing happened")
		}
		time.Sleep(31 * time.Minute)
		if read() == first {
			t.Error("the time is not recorded")
		}
		time.Sleep(36 * time.Hour)
		if n, err := loginfile.Count(dir, time.Time{}); err != nil || n != 0 {
			t.Errorf("%d tokens are in the file, %v", n, err)
		}
		last := read()
		time.Sleep(2 * time.Hour)
		if read() != last {
			t.Error("a file without tokens is written")
		}
		stop()
		running.Wait()
	})
}

func TestFile_HoldsNoSecret(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.open()
	tok, clients := issue(t, s, "a", start()), s.ClientKey()
	raw := string(d.read(loginfile.FileName)) + string(d.read(loginfile.KeyName))
	for name, secret := range map[string]string{
		"token": "token a", "hash": string(tok.Hash[:]), "hash in hex": tok.Key, "name": "a client", "passphrase": passphrase,
		"its hash": "argon2id", "key of client ids": string(clients[:]),
	} {
		if strings.Contains(raw, secret) {
			t.Errorf("the files show the %s", name)
		}
	}
	for _, name := range []string{loginfile.KeyName, loginfile.FileName} {
		if info, err := os.Stat(d.path(name)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestOpen_RefusesEveryChangedByte changes each byte of both files, and cuts them everywhere.
func TestOpen_RefusesEveryChangedByte(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	issue(t, d.open(), "a", start())
	for _, name := range []string{loginfile.KeyName, loginfile.FileName} {
		good := d.read(name)
		refused := func(what string, at int, data []byte) {
			t.Helper()
			if err := os.WriteFile(d.path(name), data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := loginfile.Open(t.Context(), d.dir, d.cfg)
			f := fault.Of(err)
			if s != nil || f == nil || !strings.Contains(f.Message, "remove") {
				t.Fatalf("%s, %s %d: %v", name, what, at, err)
			}
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			refused("changed at", i, bad)
			refused("cut at", i, good[:i])
		}
		refused("longer than", len(good), append(bytes.Clone(good), 0))
		if err := os.WriteFile(d.path(name), good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := loginfile.Count(d.dir, start()); n != 1 || err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
}

func TestOpen_Refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(d *desk) error
		says   string
	}{
		"a key that others can read":   {func(d *desk) error { return os.Chmod(d.path(loginfile.KeyName), 0o644) }, "logins.key is open to other users"},
		"a key that the group can":     {func(d *desk) error { return os.Chmod(d.path(loginfile.KeyName), 0o640) }, "chmod 600"},
		"a file that others can write": {func(d *desk) error { return os.Chmod(d.path(loginfile.FileName), 0o602) }, "logins.db is open to other users"},
		"a link for a key": {func(d *desk) error {
			return errors.Join(os.Rename(d.path(loginfile.KeyName), d.path("other")), os.Symlink(d.path("other"), d.path(loginfile.KeyName)))
		}, "logins.key is not a file of logins"},
		"a short key": {func(d *desk) error { return os.WriteFile(d.path(loginfile.KeyName), make([]byte, 31), 0o600) }, "has 31 bytes instead of 32"},
		"a file from a later version": {func(d *desk) error {
			data := bytes.Replace(d.read(loginfile.FileName), []byte("logins 1"), []byte("logins 2"), 1)
			return os.WriteFile(d.path(loginfile.FileName), data, 0o600)
		}, "written by a newer candela (format 2, this one knows 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.Contains(name, " can") {
				return // it has no permission bits
			}
			d := newDesk(t)
			issue(t, d.open(), "a", start())
			if err := c.change(d); err != nil {
				t.Fatal(err)
			}
			if _, err := loginfile.Open(t.Context(), d.dir, d.cfg); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestStore_WhenTheDiskFails has a folder where the file is written first.
func TestStore_WhenTheDiskFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.open()
	kept := issue(t, s, "kept", start())
	block := filepath.Join(d.path(loginfile.FileName+".tmp"), "full")
	if err := os.MkdirAll(block, 0o700); err != nil {
		t.Fatal(err)
	}
	code := oauth.Code{Hash: oauth.HashOf("code"), Generation: s.Seal().Generation(), Expires: start().Add(time.Minute)}
	tok := oauth.Token{Hash: oauth.HashOf("token"), ID: "token", Expires: start().Add(time.Hour), Grant: oauth.Grant{Subject: oauth.SoleOwner}}
	if err := s.PutCode(t.Context(), code, start()); err != nil {
		t.Fatal(err)
	}
	if err := s.Redeem(t.Context(), code.Hash, tok, start()); err == nil || live(s, tok, start()) {
		t.Errorf("a token was issued that is not on disk: %v", err)
	}
	if err := s.Revoke(t.Context(), oauth.SoleOwner, kept.ID); err == nil || live(s, kept, start()) {
		t.Errorf("a token is live after it was revoked: %v", err)
	}
	if err := s.Revoke(t.Context(), oauth.SoleOwner, kept.ID); err == nil || errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("a second attempt says that all is well: %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(block)); err != nil {
		t.Fatal(err)
	}
	d.write(s)
	if again := d.open(); live(again, kept, start()) || live(again, tok, start()) {
		t.Error("a token is back after a restart")
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if loginfile.Stored(d.dir) {
		t.Error("an empty directory has logins")
	}
	tok := issue(t, d.open(), "a", start())
	if n, err := loginfile.Count(d.dir, start()); n != 1 || err != nil || !loginfile.Stored(d.dir) {
		t.Errorf("%d, %v", n, err)
	}
	if err := errors.Join(loginfile.Remove(d.dir), loginfile.Remove(d.dir)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.path(loginfile.KeyName)); !errors.Is(err, fs.ErrNotExist) || loginfile.Stored(d.dir) {
		t.Error("the files are still there")
	}
	if live(d.open(), tok, start()) {
		t.Error("the token is live")
	}
}

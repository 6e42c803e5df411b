package seal_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/seal"
)

func secret(tb testing.TB) []byte {
	tb.Helper()
	s := make([]byte, seal.MinSecret)
	_, _ = rand.Read(s)
	return s
}

func box(tb testing.TB, of []byte, purpose string) *seal.Box {
	tb.Helper()
	b, err := seal.NewBox(of, purpose)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	random := secret(t)
	for name, tc := range map[string]struct{ text, want string }{
		"hexadecimal":                 {text: hex.EncodeToString(random) + "\n"},
		"base64":                      {text: base64.StdEncoding.EncodeToString(random)},
		"base64 for addresses":        {text: base64.RawURLEncoding.EncodeToString(random)},
		"nothing":                     {text: "", want: "it has 0 bytes and needs 32"},
		"too short":                   {text: hex.EncodeToString(random[:31]), want: "it has 31 bytes and needs 32"},
		"one digit again and again":   {text: strings.Repeat("ab", 32), want: "it is not random"},
		"a passphrase of somebody":    {text: "correct horse battery staple and so on for a while", want: "neither hexadecimal nor base64"},
		"zeros":                       {text: strings.Repeat("0", 64), want: "it is not random"},
		"a few digits in a long line": {text: strings.Repeat("0123456789abcdef", 8), want: "it is not random"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := seal.ParseSecret(tc.text)
			if tc.want == "" {
				if err != nil || !bytes.Equal(got, random) {
					t.Errorf("%x, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "openssl rand -hex 32") {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestBox_OpensOnlyWhatItSealedForTheSamePlace(t *testing.T) {
	t.Parallel()
	ours := secret(t)
	b, now := box(t, ours, "rows"), time.UnixMicro(1_700_000_000_123_456)
	at := seal.Place{Name: "candela.token.x", Number: 7}
	sealed := b.Seal(at, now, []byte("a body"))
	if len(sealed) != seal.Overhead+len("a body") || bytes.Contains(sealed, []byte("body")) {
		t.Fatalf("%d bytes, readable: %q", len(sealed), sealed)
	}
	body, when, err := b.Open(at, sealed)
	if err != nil || string(body) != "a body" || !when.Equal(now) {
		t.Fatalf("%q, %v, %v", body, when, err)
	}
	free := b.Seal(seal.Place{Name: at.Name}, now, nil)
	if body, _, err := b.Open(at, free); err != nil || len(body) != 0 {
		t.Errorf("one that is bound by no number does not open at one: %q, %v", body, err)
	}
	refused := func(name string, by *seal.Box, at seal.Place, data []byte) {
		t.Helper()
		if _, _, err := by.Open(at, data); !errors.Is(err, seal.ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused("another subject", b, seal.Place{Name: "candela.token.y", Number: 7}, sealed)
	refused("another number", b, seal.Place{Name: at.Name, Number: 8}, sealed)
	refused("another purpose", box(t, ours, "calls"), at, sealed)
	refused("another secret", box(t, secret(t), "rows"), at, sealed)
	refused("nothing", b, at, nil)
	refused("a row without a seal", b, at, []byte(`{"hash":"0000000000000000000000000000000000000000000000000000000000"}`))
	unbound := bytes.Clone(sealed)
	unbound[1] = 0
	refused("the number taken away", b, at, unbound)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		refused("a bit changed", b, at, changed)
	}
	for n := range sealed {
		refused("cut", b, at, sealed[:n])
	}
}

func TestReplays_LetsEachMessageInOnce(t *testing.T) {
	t.Parallel()
	const window = 30 * time.Second
	r, now := seal.NewReplays(window, 100), time.UnixMicro(1_700_000_000_000_000)
	id := seal.NewID()
	sent := now.Add(window) // by a clock that is ahead
	for i := range 130 {
		err := r.Take(seal.Try{ID: id}, sent, now.Add(time.Duration(i)*time.Second))
		switch {
		case i == 0 && err != nil:
			t.Errorf("the first: %v", err)
		case i > 0 && !errors.Is(err, seal.ErrReplayed): // also when it is too old
			t.Errorf("after %d s: %v", i, err)
		}
	}
	if err := r.Take(seal.Try{ID: seal.NewID()}, now, now.Add(window+1)); !errors.Is(err, seal.ErrStale) {
		t.Errorf("an old one: %v", err)
	}
	if err := r.Take(seal.Try{ID: seal.NewID()}, now.Add(window+1), now); !errors.Is(err, seal.ErrStale) {
		t.Errorf("one of the future: %v", err)
	}
}

func TestReplays_RemembersAcrossItsTurns(t *testing.T) {
	t.Parallel()
	const window = 30 * time.Second
	for shift := range 240 {
		r, now := seal.NewReplays(window, 100), time.UnixMicro(1_700_000_000_000_000)
		if err := r.Take(seal.Try{ID: seal.NewID()}, now, now); err != nil {
			t.Fatal(err)
		}
		id, at := seal.NewID(), now.Add(time.Duration(shift)*time.Second)
		if err := r.Take(seal.Try{ID: id}, at.Add(window), at); err != nil {
			t.Fatal(err)
		}
		for later := range 61 {
			if err := r.Take(seal.Try{ID: id}, at.Add(window), at.Add(time.Duration(later)*time.Second)); !errors.Is(err, seal.ErrReplayed) {
				t.Fatalf("%d s after one at %d s: %v", later, shift, err)
			}
		}
	}
}

// TestReplays_AClockSetBackLetsNothingInAgain sets the clock here back to when a message
// was new that is forgotten by now.
func TestReplays_AClockSetBackLetsNothingInAgain(t *testing.T) {
	t.Parallel()
	const window = 30 * time.Second
	for _, every := range []time.Duration{time.Second, time.Minute, 5 * time.Minute} {
		r, now := seal.NewReplays(window, 1000), time.UnixMicro(1_700_000_000_000_000)
		id := seal.NewID()
		if err := r.Take(seal.Try{ID: id}, now, now); err != nil {
			t.Fatal(err)
		}
		at := now
		for at.Sub(now) < 10*time.Minute {
			at = at.Add(every)
			if err := r.Take(seal.Try{ID: seal.NewID()}, at.Add(-window), at); err != nil {
				t.Fatalf("one of half a minute ago, every %s: %v", every, err)
			}
		}
		if err := r.Take(seal.Try{ID: id}, now, now.Add(time.Second)); err == nil {
			t.Errorf("it is let in again, with others every %s", every)
		}
		if err := r.Take(seal.Try{ID: seal.NewID()}, at, at); err != nil {
			t.Errorf("a new one, with others every %s: %v", every, err)
		}
	}
}

func TestReplays_RefusesWhatItCannotRemember(t *testing.T) {
	t.Parallel()
	r, now := seal.NewReplays(time.Second, 3), time.UnixMicro(1_700_000_000_000_000)
	for range 3 {
		if err := r.Take(seal.Try{ID: seal.NewID()}, now, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Take(seal.Try{ID: seal.NewID()}, now, now); !errors.Is(err, seal.ErrFull) {
		t.Errorf("the fourth: %v", err)
	}
	if now = now.Add(2 * time.Second); r.Take(seal.Try{ID: seal.NewID()}, now, now) != nil {
		t.Error("there is no room after two windows")
	}
}

// A sender that was refused tries again, with the same id: what was carried out is not
// carried out again, whatever the sender was made to believe.
func TestReplays_LetsAnotherAttemptInOnlyAfterARefusal(t *testing.T) {
	t.Parallel()
	r, now := seal.NewReplays(time.Minute, 10), time.UnixMicro(1_700_000_000_000_000)
	id := seal.NewID()
	take := func(number uint32) error { return r.Take(seal.Try{ID: id, Number: number}, now, now) }
	if err := take(1); err != nil {
		t.Fatal(err)
	}
	if err := take(2); !errors.Is(err, seal.ErrReplayed) {
		t.Errorf("a second attempt while the first is carried out: %v", err)
	}
	r.Refuse(seal.Try{ID: id, Number: 1})
	if err := take(1); !errors.Is(err, seal.ErrReplayed) {
		t.Errorf("the refused attempt again: %v", err)
	}
	if err := take(2); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
	r.Refuse(seal.Try{ID: id, Number: 1}) // which is late
	if err := take(3); !errors.Is(err, seal.ErrReplayed) {
		t.Errorf("one after an attempt that was not refused: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	b := box(f, bytes.Repeat([]byte("0123456789abcdef"), 2), "rows")
	at := seal.Place{Name: "a", Number: 1}
	good := b.Seal(at, time.UnixMicro(0), []byte("x"))
	f.Add(good)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := b.Open(at, data); (err == nil) != bytes.Equal(data, good) && err == nil {
			t.Errorf("%x opens", data)
		}
	})
}

// BenchmarkMessage is what a message of usual size costs who writes and who reads it.
func BenchmarkMessage(b *testing.B) {
	by, at, body := box(b, secret(b), "rows"), seal.Place{Name: "candela.token.0123456789abcdef"}, make([]byte, 600)
	now := time.Now()
	sealed := by.Seal(at, now, body)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			by.Seal(at, now, body)
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := by.Open(at, sealed); err != nil {
				b.Fatal(err)
			}
		}
	})
}

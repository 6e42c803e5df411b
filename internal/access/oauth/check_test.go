package oauth_test

import (
	"crypto/sha256"
	"strconv"
	"testing"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/testkit/longtest"
)

// crowded returns a server with a thousand live tokens, and one of them.
func crowded(tb testing.TB) (*oauth.Server, string) {
	tb.Helper()
	store, now := oauth.NewMemory(oauth.MaxTokens), time.Now()
	for i := range 1000 {
		code := oauth.HashOf("code " + strconv.Itoa(i))
		secret := oauth.HashOf(strconv.Itoa(i)).Hex()[:43]
		t := oauth.Token{Hash: oauth.HashOf(secret), ID: strconv.Itoa(i), Grant: oauth.Grant{Subject: oauth.SoleOwner}, Issued: now, Expires: now.Add(oauth.TokenTTL)}
		t.Key = t.Hash.Hex()
		if err := store.PutCode(tb.Context(), oauth.Code{Hash: code, Generation: store.Seal().Generation(), Expires: now.Add(oauth.CodeTTL)}, now); err != nil {
			tb.Fatal(err)
		}
		if err := store.Redeem(tb.Context(), code, t, now); err != nil {
			tb.Fatal(err)
		}
	}
	return NewWith(tb, store, Owner(tb), nil).Server, oauth.HashOf("500").Hex()[:43]
}

// TestTokenCheck_Cost counts allocations. The long form measures the time too: the
// best of many rounds, because other work on the machine can only add to it.
func TestTokenCheck_Cost(t *testing.T) { //nolint:paralleltest // it measures
	s, token := crowded(t)
	check := func() {
		if _, err := s.Authorize(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	if allocations := testing.AllocsPerRun(1000, check); allocations > 1 {
		t.Errorf("%v allocations", allocations)
	}
	if !longtest.On() {
		return
	}
	best := bestOf(check)
	raw := []byte(token)
	floor := bestOf(func() { _ = sha256.Sum256(raw) })
	t.Logf("a token check with 1000 live tokens takes %v, of which the hash takes %v", best, floor)
	if best > time.Microsecond && !raceDetector {
		t.Errorf("takes %v, want at most 1 us", best)
	}
}

// bestOf returns the time of one call in the fastest of 200 rounds of 100.
func bestOf(call func()) time.Duration {
	best := time.Hour
	for range 200 {
		began := time.Now()
		for range 100 {
			call()
		}
		best = min(best, time.Since(began)/100)
	}
	return best
}

func BenchmarkTokenCheck(b *testing.B) {
	s, token := crowded(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authorize(ctx, token); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTokenCheckFloor is what no check can do without: the hash.
func BenchmarkTokenCheckFloor(b *testing.B) {
	token := []byte(oauth.HashOf("500").Hex()[:43])
	for b.Loop() {
		_ = sha256.Sum256(token)
	}
}

func BenchmarkRegister(b *testing.B) {
	s := New(b, func(c *oauth.Config) { c.Limits.Register = oauth.Rate{Burst: 1 << 30, Every: 1} })
	body := uris("https://a.example/cb")
	b.ReportAllocs()
	for b.Loop() {
		s.PostRegister(body)
	}
}

package loginfile_test

import (
	"strconv"
	"testing"
	"time"

	"candela/internal/access/oauth"
)

// BenchmarkRedeem issues a token beside so many others, and ends the oldest.
func BenchmarkRedeem(b *testing.B) {
	for _, tokens := range []int{1, 1024, 20_000} {
		b.Run(strconv.Itoa(tokens), func(b *testing.B) {
			d := newDesk(b)
			d.cfg.Most = oauth.OneOwner(tokens)
			s := d.open()
			for i := range tokens {
				h := oauth.HashOf("old " + strconv.Itoa(i))
				t := oauth.Token{
					Hash: h, Key: h.Hex(), ID: strconv.Itoa(i), Generation: s.Seal().Generation(), Issued: start(), Expires: start().Add(time.Hour),
					Grant: oauth.Grant{Subject: oauth.SoleOwner, ClientName: "a client of some name", ClientKey: h.Hex()[:32], Scope: "trade", TTL: time.Hour},
				}
				if err := s.PutToken(b.Context(), t, start()); err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				n++
				issue(b, s, strconv.Itoa(n), start())
			}
			b.ReportMetric(float64(len(d.read("logins.db"))), "B/file")
		})
	}
}

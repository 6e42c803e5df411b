package loginfile

import (
	"bytes"
	"testing"
	"time"

	"candela/internal/access/oauth"
)

// FuzzOpen gives the key other files than the one that it sealed.
func FuzzOpen(f *testing.F) {
	key := newKey()
	good, err := key.seal(contents{Saved: time.Unix(0, 0), Tokens: []oauth.Token{{ID: "a"}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{nil, good, good[:len(good)-1], header(), []byte("candela logins 2\n"), []byte("candela logins 99999999999999999999\n"), []byte("candela logins -1\n{}")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := key.open("logins.db", data)
		if bytes.Equal(data, good) {
			if err != nil || len(c.Tokens) != 1 {
				t.Errorf("%+v, %v", c, err)
			}
			return
		}
		if err == nil || c != nil {
			t.Errorf("%q was opened: %+v", data, c)
		}
	})
}

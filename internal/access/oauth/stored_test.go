package oauth_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
)

// TestStored_KeepsItsJSON pins the stored form of codes and tokens: replicas of
// different versions read it during a rolling upgrade.
func TestStored_KeepsItsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	grant := oauth.Grant{Subject: "owner", ClientName: "a client", ClientKey: "key"}
	login := grant
	login.Login = true
	code := oauth.Code{Hash: oauth.Hash{1, 2}, Client: "fp", Redirect: "http://localhost/cb", Challenge: [32]byte{3}, Grant: grant, Generation: "0123456789abcdef", Expires: at}
	token := oauth.Token{Hash: oauth.Hash{4, 5}, Key: "0405", ID: "id", Grant: login, Generation: "0123456789abcdef", Issued: at, Expires: at.Add(oauth.TokenTTL)}
	limited := token
	limited.Grant = grant
	limited.Grant.Scope, limited.Grant.TTL, limited.Expires = "read", time.Hour, at.Add(time.Hour)
	var b strings.Builder
	for _, record := range []any{code, token, limited} {
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	want, err := os.ReadFile("testdata/stored.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("stored form:\n%s\nwant:\n%s", got, want)
	}
	for i, written := range []oauth.Token{token, limited} {
		var back oauth.Token
		if err := json.Unmarshal([]byte(strings.Split(string(want), "\n")[i+1]), &back); err != nil || back != written {
			t.Errorf("read back %+v, %v", back, err)
		}
	}
	if got := (oauth.SealKey{1}).Generation(); got != "89025244a54d30a0" {
		t.Errorf("generation of a key: %s", got)
	}
}

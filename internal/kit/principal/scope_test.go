package principal_test

import (
	"encoding/json"
	"testing"

	"candela/internal/kit/principal"
)

func TestScope_NamesAndOrder(t *testing.T) {
	t.Parallel()
	last := principal.NoScope
	for _, s := range principal.Scopes() {
		if back, ok := principal.ParseScope(s.String()); !ok || back != s || s <= last {
			t.Errorf("%s after %s is read as %s, %v", s, last, back, ok)
		}
		last = s
	}
	for _, name := range []string{"", "none", "Trade", " trade", "trade ", "charts read", "admin"} {
		if s, ok := principal.ParseScope(name); ok || s != principal.NoScope {
			t.Errorf("%q is %s", name, s)
		}
	}
	if got := principal.Scope(200).String(); got != "none" {
		t.Errorf("an unknown scope is called %s", got)
	}
}

// The scope is checked where a call arrives; a record that was stored or sent has none.
func TestCaller_SendsNoScope(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(principal.Caller{Subject: "owner", Scope: principal.Trade})
	if err != nil {
		t.Fatal(err)
	}
	var back principal.Caller
	if err := json.Unmarshal(raw, &back); err != nil || back.Scope != principal.NoScope || back.Subject != "owner" {
		t.Errorf("%s: %+v, %v", raw, back, err)
	}
	if err := json.Unmarshal([]byte(`{"Scope":3,"scope":3,"-":3}`), &back); err != nil || back.Scope != principal.NoScope {
		t.Errorf("a scope was read: %+v, %v", back, err)
	}
}

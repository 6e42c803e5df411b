package paper_test

import (
	"testing"

	"candela/internal/trading/broker/paper"
)

func TestPaperCash_AcceptsAmountsByCurrency(t *testing.T) {
	t.Parallel()
	kind := paper.Descriptor().Settings[0].Kind
	for text, want := range map[string]string{
		"EUR=0.5,JPY=1000000": "EUR=0.5,JPY=1000000", " usd = 1 , EUR=2": "EUR=2,USD=1",
		"": "", "100000": "", "USD=100,000": "", "USD=-1": "", "USD=1e400": "", "USD=1,usd=2": "", "U=1": "",
	} {
		if got, ok := kind.Read(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}

package alpaca

import "testing"

// TestHost_WithoutMoneyOnlyTestHostsAndThisMachine holds that an address is taken for
// a test only when it is known to be one.
func TestHost_WithoutMoneyOnlyTestHostsAndThisMachine(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"paper-api.alpaca.markets": true, "PAPER-API.alpaca.markets.": true, "127.0.0.1": true, "::1": true, "localhost": true, "venue.test": true,
		"api.alpaca.markets": false, "gateway.example.com": false, "10.0.0.7": false, "api.alpaca.markets.example": false, "": false,
	} {
		if got := (Config{}).fits(host, PaperURL, LiveURL); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

package binance

import "testing"

// TestHost_WithoutMoneyOnlyTestHostsAndThisMachine holds that an address is taken for
// a test only when it is known to be one.
func TestHost_WithoutMoneyOnlyTestHostsAndThisMachine(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://testnet.binance.vision": true, "wss://ws.testnet.binance.vision": true, "https://demo-api.binance.com": true,
		"http://127.0.0.1:9": true, "http://[::1]:9": true, "http://localhost:80": true, "https://venue.test": true,
		"https://api.binance.com": false, "https://api.binance.us": false, "https://gateway.example.com": false, "http://10.0.0.7": false,
		"https://testnet.binance.vision.example.com": false, "https://api-gcp.binance.com": false,
	} {
		if got := Testnet.checkHost(address) == nil; got != want {
			t.Errorf("%s: %v", address, got)
		}
		if err := Live.checkHost(address); err != nil {
			t.Errorf("%s with money: %v", address, err)
		}
	}
}

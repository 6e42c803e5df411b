package app

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/tool/tooltest"
	fakebinance "candela/internal/testkit/fake/binance"
)

// TestStrategies_ChangeNothingElse holds that a client that does not ask for the set strategies sees nothing of them: where
// strategies run, the list of tools and the answers of its calls are byte for byte those of a program without, but for ids
// and times.
func TestStrategies_ChangeNothingElse(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	calls := []struct{ tool, arguments string }{
		{"list_indicators", `{"brief":true}`},
		{"get_balance", `{}`},
		{"place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":"0.001","price":"20000","time_in_force":"gtc"}`},
		{"place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":"0.001","price":"20000","deployment":"x"}`},
		{"get_orders", `{}`},
		{"get_positions", `{}`},
		{"cancel_order", `{"order_id":"none"}`},
		{"set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":1000000}}`},
		{"list_alerts", `{}`},
		{"cancel_alert", `{"alert_id":"none"}`},
		{"get_notifications", `{}`},
		{"subscribe_notifications", `{}`},
		{"list_subscriptions", `{}`},
		{"unsubscribe_notifications", `{"subscription_id":"none"}`},
		{"get_indicators", `{}`},
		{"generate_chart", `{"symbol":"BTCUSDT","wrong":1}`},
		{"get_deployment", `{"deployment_id":"x"}`},
	}
	lines := []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		listTools, modern("2", "tools/list", ""), `{"jsonrpc":"2.0","id":3,"method":"resources/list"}`,
	}
	for i, c := range calls {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, 10+i, c.tool, c.arguments))
	}
	for _, name := range tooltest.InSet("") {
		if !slices.ContainsFunc(calls, func(c struct{ tool, arguments string }) bool { return c.tool == name }) {
			t.Errorf("%s is not called", name)
		}
	}
	passing := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{4}-\d\d-\d\dT[0-9:.]+Z|\d+\.\d+`)
	run := func(flags ...string) []string {
		all := overStdio(t, strings.Join(lines, "\n"), append([]string{"--trade", "--binance-url=" + venue.URL}, flags...)...)
		for i := range all {
			all[i] = passing.ReplaceAllString(all[i], "~")
		}
		return all
	}
	without := run()
	for _, stage := range []string{"shadow", "paper"} {
		with := run("--strategies", stage)
		for i := range without {
			if with[i] != without[i] {
				t.Errorf("%s with --strategies %s:\n%s\nand without:\n%s", lines[i], stage, with[i], without[i])
			}
		}
	}
	orders := without[slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"get_orders"`) })]
	if t.Failed() || !strings.Contains(orders, "BTCUSDT") || !strings.Contains(without[len(lines)-1], "get_deployment") {
		t.Error(strings.Join(without, "\n"))
	}
}

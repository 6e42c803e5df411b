package oracle

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	client "github.com/adshao/go-binance/v2"
)

// socketVenue names the variable with the address of the venue that a test's sockets
// reach.
const socketVenue = "CANDELA_ORACLE_SOCKET_VENUE"

// TestMain puts one address in front of the venues of all tests. The client of Binance
// keeps the address of its WebSocket API in a package variable and reads it whenever it
// connects again, also after a test: it can be set only once.
func TestMain(m *testing.M) {
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if target, err := url.Parse(os.Getenv(socketVenue)); err == nil {
				r.SetURL(target)
			}
		},
		ErrorLog: log.New(io.Discard, "", 0), // of clients that outlive their test
	})
	client.BaseWsApiMainURL = "ws" + strings.TrimPrefix(front.URL, "http") + "/ws-api/v3"
	os.Exit(m.Run())
}

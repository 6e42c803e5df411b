package stdio_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/stdio"
)

func TestModernTranscripts(t *testing.T) {
	replay(t, startServer(t, mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{}), nil), "../mcp/testdata/modern")
}

const (
	watchNote = `"notifications":{"resourceSubscriptions":["test://note"]}`
	tag       = `"_meta":{"io.modelcontextprotocol/subscriptionId":%d}`
	ack       = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + `,"notifications":{"resourceSubscriptions":["test://note"]}}}`
	update    = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag + `,"uri":"test://note"}}`
	complete  = `{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete",` + tag + `}}`
)

// listen opens a subscription and reads its acknowledgement.
func (s *session) listen(t *testing.T, id int) {
	t.Helper()
	s.send(t, mcptest.Modern(strconv.Itoa(id), "subscriptions/listen", watchNote))
	if got := s.read(t); got != fmt.Sprintf(ack, id) {
		t.Fatalf("acknowledged by %s", got)
	}
}

func TestListen_EndsWithTheClientOrTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shelf := &mcptest.Shelf{}
		s := startServer(t, mcptest.ModernServer(t, mcptest.Toolbox{}, shelf), nil)
		s.listen(t, 1)
		shelf.Change("a")
		if got := s.read(t); got != fmt.Sprintf(update, 1) {
			t.Fatalf("got %s", got)
		}
		// A cancelled one says nothing more, and its id can be used again.
		s.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		if open := shelf.Watched(); open != 0 {
			t.Fatalf("%d watches after a cancellation", open)
		}
		s.listen(t, 1)
		rest, err := s.end(t)
		if want := fmt.Sprintf(complete, 1, 1) + "\n"; rest != want || err != nil || shelf.Watched() != 0 {
			t.Fatalf("%q at the end, want %q; %v", rest, want, err)
		}
	})
}

func TestListen_IsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startServer(t, mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{}), nil)
		for id := range 4 {
			s.listen(t, id)
		}
		s.send(t, mcptest.Modern("9", "subscriptions/listen", watchNote))
		if got := s.read(t); !strings.Contains(got, `"id":9,"error":{"code":-32001,`) {
			t.Errorf("a fifth is answered by %s", got)
		}
		if rest, err := s.end(t); strings.Count(rest, `"resultType":"complete"`) != 4 || err != nil {
			t.Errorf("%q, %v at the end", rest, err)
		}
	})
}

// Subscriptions count among the calls: else a client that reads no answers could make the
// session hold any number of refusals.
func TestListen_CountsAmongTheCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startServer(t, mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{}), nil)
		for id := range 4 {
			s.listen(t, id)
		}
		for id := range 252 {
			s.send(t, mcptest.Modern(strconv.Itoa(10+id), "tools/call", `"name":"wait"`))
		}
		s.send(t, mcptest.Modern("9", "subscriptions/listen", watchNote))
		if got := s.read(t); !strings.Contains(got, `"id":9,`) || !strings.Contains(got, "too many calls are waiting") {
			t.Errorf("call 257 is answered by %s", got)
		}
		if _, err := s.end(t); err != nil {
			t.Error(err)
		}
	})
}

// A client of the newer revision gets only what it subscribed to.
func TestSession_ModernCallStartsNoPush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, begun := mcptest.NewSource(), 0
		s := startServer(t, mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{}), func(c *stdio.Config) {
			c.Streams, c.Begin = source, func() { begun++ }
		})
		s.send(t, mcptest.Modern("1", "server/discover", ""))
		s.read(t)
		if begun != 0 {
			t.Error("a question for the protocol began the work")
		}
		for _, body := range []string{mcptest.Modern("2", "tools/call", `"name":"echo"`), mcptest.Modern("3", "resources/read", `"uri":"test://note"`)} {
			s.send(t, body)
			s.read(t)
		}
		s.listen(t, 4)
		if begun != 3 || len(source.Opened) != 0 {
			t.Errorf("%d beginnings, %d streams", begun, len(source.Opened))
		}
		s.send(t, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo"}}`)
		s.read(t)
		if begun != 4 || len(source.Opened) != 1 {
			t.Errorf("%d beginnings, %d streams after an older call", begun, len(source.Opened))
		}
		if _, err := s.end(t); err != nil {
			t.Error(err)
		}
	})
}

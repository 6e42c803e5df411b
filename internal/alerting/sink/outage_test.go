package sink

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink/sinktest"
)

func TestSink_BacksOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.answers(func(uint64) (int, http.Header, error) { return 0, nil, errors.New("connection refused") })
		stop := s.start()
		s.fire(2)
		time.Sleep(30 * time.Minute)
		must(t, stop())
		var gaps []time.Duration
		for i, a := range s.attempts {
			if a.seq != 1 {
				t.Fatalf("%d was sent before 1", a.seq)
			}
			if i > 0 {
				gaps = append(gaps, a.after-s.attempts[i-1].after)
			}
		}
		want := []time.Duration{750 * time.Millisecond}
		for len(want) < len(gaps) {
			want = append(want, min(2*want[len(want)-1], 225*time.Second)) // 0.75 of 5 minutes
		}
		if len(gaps) < 14 || !slices.Equal(gaps, want) {
			t.Errorf("waited %v, want %v", gaps, want)
		}
	})
}

func TestSink_WaitsAsLongAsItIsAskedTo(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.fails(1, 429, http.Header{"Retry-After": {"90"}})
		stop := s.start()
		s.fire(2)
		time.Sleep(2 * time.Minute)
		s.wants(1, 1, 2)
		if wait := s.attempts[1].after - s.attempts[0].after; wait != 90*time.Second {
			t.Errorf("waited %v", wait)
		}
		must(t, stop())
	})
}

func TestSink_GoesOnAfterARefusal(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.fails(1, 403, nil)
		stop := s.start()
		s.fire(2)
		s.wants(1, 2)
		must(t, stop())
		if got := s.sink.Status(); got != (Status{Name: "webhook", Delivered: 1, Refused: 1}) {
			t.Errorf("%+v", got)
		}
		if !strings.Contains(s.out.String(), `level=ERROR msg="alert refused; not retried" sink=webhook host=a.example seq=1 reason="403 Forbidden"`) {
			t.Errorf("%s", s.out)
		}
	})
}

// ending is a receiver that wants nothing more after the first notification.
type ending struct {
	Receiver

	sent *[]uint64
}

func (e ending) Send(_ context.Context, m Message) Answer {
	*e.sent = append(*e.sent, m.Alert.Seq)
	if m.Alert.Seq == 1 {
		return Answer{Outcome: Delivered}
	}
	return Answer{Outcome: Refused, Stop: true, Text: "410 Gone"}
}

// TestSink_StopsWhenTheReceiverWantsNothingMore holds that a receiver that has gone is asked once, that status says
// so, and that what it did not take is sent after the next start.
func TestSink_StopsWhenTheReceiverWantsNothingMore(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		var sent []uint64
		stop := s.startWith("webhook", ending{newPoster(t, "https://a.example"), &sent})
		s.fire(3)
		time.Sleep(time.Hour)
		s.fire(1)
		time.Sleep(time.Hour)
		if got := s.sink.Status(); got.Delivered != 1 || got.Refused != 0 || got.Problem != "410 Gone" || !slices.Equal(sent, []uint64{1, 2}) {
			t.Errorf("%+v, sent %v", got, sent)
		}
		must(t, stop())
		if s.store.next() != 2 || !strings.Contains(s.out.String(), "sink stopped: the receiver wants nothing more") {
			t.Errorf("the store has %d: %s", s.store.next(), s.out)
		}
		stop = s.start()
		s.wants(2, 3, 4)
		must(t, stop())
	})
}

func TestSink_HangingReceiver(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.answers(func(uint64) (int, http.Header, error) { return 0, nil, errHang })
		stop := s.start()
		s.fire(1)
		time.Sleep(11 * time.Second)
		s.wants(1, 1)
		if wait := s.attempts[1].after - s.attempts[0].after; wait != timeout+750*time.Millisecond {
			t.Errorf("tried again after %v", wait)
		}
		began := time.Now()
		s.fire(10_000)
		if took := time.Since(began); took != 0 {
			t.Errorf("what fires waits %v for a receiver that hangs", took)
		}
		must(t, stop())
		if took := time.Since(began); took != lastMoment {
			t.Errorf("stopping took %v", took)
		}
		if s.store.next() != 1 {
			t.Errorf("the store has %d", s.store.next())
		}
	})
}

// The request in progress at shutdown is not repeated by the next process.
func TestSink_StopWaitsForTheRequestUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.answers(func(uint64) (int, http.Header, error) {
			time.Sleep(time.Second)
			return 200, nil, nil
		})
		stop := s.start()
		s.fire(2)
		synctest.Wait()
		must(t, stop())
		stop = s.start()
		time.Sleep(2 * time.Second)
		s.wants(1, 2)
		must(t, stop())
	})
}

func TestSink_BacklogIsBoundedByAge(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.answers(func(uint64) (int, http.Header, error) { return 503, nil, nil })
		stop := s.start()
		s.fire(3)
		time.Sleep(23 * time.Hour)
		s.fire(2)
		time.Sleep(2 * time.Hour)
		s.takes()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		must(t, stop())
		last := s.seqs()
		if last = last[len(last)-2:]; !slices.Equal(last, []uint64{4, 5}) {
			t.Errorf("ended with %v", last)
		}
		if !strings.Contains(s.out.String(), "count=3 last_seq=3") {
			t.Error("the log does not say what was not sent")
		}
	})
}

func TestSink_BacklogIsBoundedByNumber(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		stop := s.start()
		must(t, stop())
		s.fire(MaxWaiting + 500)
		stop = s.start()
		got := s.seqs()
		must(t, stop())
		if len(got) != MaxWaiting || got[0] != 501 || !slices.IsSorted(got) {
			t.Errorf("%d sent, from %d on", len(got), got[0])
		}
		if s.store.writes > 3 {
			t.Errorf("%d writes for one burst", s.store.writes)
		}
	})
}

// A restart after a long time sends what is young enough, and no more.
func TestSink_RestartDoesNotFlood(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		stop := s.start()
		s.fire(1)
		s.wants(1)
		must(t, stop())
		old := s.seq
		s.fire(5)
		time.Sleep(25 * time.Hour)
		s.fire(2)
		var kept []notify.Entry
		for seq := old + 1; seq <= s.seq; seq++ {
			at := time.Now()
			if seq <= old+5 {
				at = at.Add(-25 * time.Hour)
			}
			kept = append(kept, *sinktest.Entry(seq, at))
		}
		s.reopen()
		s.log.Restore(s.seq, kept)
		stop = s.start()
		s.wants(1, 7, 8)
		must(t, stop())
	})
}

// One notification at which the receiver fails must not keep back the others.
func TestSink_PoisonIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.answers(func(seq uint64) (int, http.Header, error) {
			if seq == 2 {
				return 500, nil, nil
			}
			return 200, nil, nil
		})
		stop := s.start()
		s.fire(4)
		time.Sleep(10 * time.Second)
		if got := s.sink.Status(); got.Delivered != 1 || got.Failed == 0 || time.Since(got.Waits) < 10*time.Second {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Hour)
		want := append([]uint64{1}, slices.Repeat([]uint64{2}, patience+1)...)
		s.wants(append(want, 3, 2, 4)...)
		must(t, stop())
		if s.store.next() != 5 || !strings.Contains(s.out.String(), "seq=2 reason=\"500 Internal Server Error\"") {
			t.Errorf("the store has %d:\n%s", s.store.next(), s.out)
		}
	})
}

// A receiver that comes back loses nothing, at whichever attempt it does: that the
// next notification is taken first may mean that it has just come back.
func TestSink_OutageLosesNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func() (int, http.Header, error){
		"its own fault": func() (int, http.Header, error) { return 500, nil, nil },
		"no connection": func() (int, http.Header, error) { return 0, nil, errors.New("refused") },
		"throttled":     func() (int, http.Header, error) { return 429, nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for failures := range 4 * patience {
				bubble(t, func(s *scene) {
					t := s.t
					taken, left := map[uint64]int{}, failures
					s.answers(func(seq uint64) (int, http.Header, error) {
						if left--; left >= 0 {
							return answer()
						}
						taken[seq]++
						return 200, nil, nil
					})
					stop := s.start()
					s.fire(5)
					time.Sleep(5 * time.Hour)
					must(t, stop())
					for seq := uint64(1); seq <= 5; seq++ {
						if taken[seq] != 1 {
							t.Errorf("after %d failures %d was taken %d times", failures, seq, taken[seq])
						}
					}
				})
			}
		})
	}
}

func TestSink_NoSecretInTheLog(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(uint64) (int, http.Header, error){
		"taken":       func(uint64) (int, http.Header, error) { return 200, nil, nil },
		"refused":     func(uint64) (int, http.Header, error) { return 401, nil, nil },
		"redirected":  func(uint64) (int, http.Header, error) { return 302, http.Header{"Location": {"https://hunter4"}}, nil },
		"unavailable": func(uint64) (int, http.Header, error) { return 503, nil, nil },
		"unreachable": func(uint64) (int, http.Header, error) { return 0, nil, errors.New("malformed response " + secretText) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(s *scene) {
				t := s.t
				s.answers(answer)
				stop := s.start()
				s.fire(2)
				time.Sleep(time.Minute)
				must(t, stop())
				for _, hidden := range []string{secretText, "hunter2", "hunter3", "hunter4", "key="} {
					if strings.Contains(s.out.String(), hidden) {
						t.Errorf("%q is in the log:\n%s", hidden, s.out)
					}
				}
				if !strings.Contains(s.out.String(), "host=a.example") {
					t.Errorf("the log does not say where to:\n%s", s.out)
				}
			})
		})
	}
}

// TestSink_OverLoopback runs both receivers over sockets and in real time.
func TestSink_OverLoopback(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	answer := func() http.HandlerFunc {
		var n atomic.Int64 // the second request comes over another connection
		return func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}
	hook, hooked := sinktest.Listen(t, answer())
	topic, posted := sinktest.Listen(t, answer())
	stopHook, stopTopic := s.startWith("webhook", newPoster(t, hook)), s.startWith("ntfy", newPoster(t, topic))
	s.fire(2)
	for _, arrived := range []chan sinktest.Got{hooked, posted} {
		for _, want := range []string{"1", "1", "2"} {
			if in := <-arrived; in.Header.Get(HeaderSeq) != want {
				t.Errorf("%s came, want %s", in.Header.Get(HeaderSeq), want)
			}
		}
	}
	must(t, stopHook())
	must(t, stopTopic())
	if s.store.cursors["sink:webhook"] != 3 || s.store.cursors["sink:ntfy"] != 3 {
		t.Errorf("the store has %v", s.store.cursors)
	}
}

// pipes is a listener without a network, so that a whole HTTP server runs in virtual
// time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// TestSink_FaultsOfARealServer runs a sink against an HTTP server that drops, hangs,
// throttles and fails, and looks at what its handler has taken.
func TestSink_FaultsOfARealServer(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		var taken []string
		n := 0
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			n++
			switch n % 6 {
			case 0:
				w.WriteHeader(http.StatusInternalServerError)
				return
			case 1:
				panic(http.ErrAbortHandler) // the connection drops
			case 2:
				<-r.Context().Done() // until the client has had enough
				return
			case 3:
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			taken = append(taken, r.Header.Get(HeaderSeq)+" "+strconv.Itoa(len(body)))
		})
		ln := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(ln)
		}()
		to := newPoster(t, "http://localhost/x")
		to.transport = &http.Transport{DialContext: ln.dial, IdleConnTimeout: time.Second}
		stop := s.startWith("webhook", to)
		s.fire(20)
		time.Sleep(time.Hour)
		must(t, stop())
		must(t, server.Close())
		<-served
		var want []string
		for seq := range uint64(20) {
			want = append(want, strconv.FormatUint(seq+1, 10)+" "+strconv.Itoa(len(sinktest.Entry(seq+1, time.Now()).Data)))
		}
		if !slices.Equal(taken, want) {
			t.Errorf("the server took %v, want %v", taken, want)
		}
	})
}

package rehearse

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/kit/retry"
	"candela/internal/kit/setting"
	"candela/internal/trading/broker"
)

// fate is what a relay does with the next order.
type fate uint8

const (
	pass fate = iota
	loseRequest
	loseAnswer
	hold
)

// way is the relays of a rehearsal. It is safe for concurrent use.
type way struct {
	routes []broker.Route
	bases  []string // the addresses of the relays
	stops  []func() error
	record record

	mu      sync.Mutex
	next    fate
	held    time.Duration
	streams map[int]context.CancelFunc
	numbers int
}

// stand puts a relay in front of each address of the broker.
func (o Options) stand() (*way, error) {
	w := &way{streams: make(map[int]context.CancelFunc)}
	serve := o.Serve
	if serve == nil {
		serve = serveLoopback
	}
	for _, route := range o.Broker.Rehearsal.Routes(o.Values, o.Network) {
		to, err := url.Parse(route.Address)
		if err != nil {
			w.close()
			return nil, err
		}
		address, stop, err := serve(w.relay(to, o.Dial))
		if err != nil {
			w.close()
			return nil, err
		}
		scheme := "http"
		if strings.HasPrefix(to.Scheme, "ws") {
			scheme = "ws"
		}
		w.routes, w.stops = append(w.routes, route), append(w.stops, stop)
		w.bases = append(w.bases, scheme+"://"+address+to.Path)
	}
	return w, nil
}

// serveLoopback serves a handler on a port of this machine that nobody else reaches.
func serveLoopback(h http.Handler) (address string, stop func() error, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is on this machine and does not wait
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln) // it returns when it is closed
	}()
	return ln.Addr().String(), func() error {
		err := s.Close()
		<-done
		return err
	}, nil
}

// values returns settings by which everything goes through the relays.
func (w *way) values(v setting.Values) setting.Values {
	for i, route := range w.routes {
		for _, name := range route.Settings {
			v = v.With(name, w.bases[i])
		}
	}
	return v
}

func (w *way) close() {
	w.cut()
	for _, stop := range w.stops {
		_ = stop() // nothing is left to lose
	}
}

func (w *way) answers() []Answer { return w.record.answers() }

// arm decides what becomes of the next order.
func (w *way) arm(f fate, held time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.held = f, held
}

func (w *way) take(req *http.Request) (fate, time.Duration) {
	if req.Method != http.MethodPost {
		return pass, 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.next
	w.next = pass
	return f, w.held
}

// cut ends every stream that is open.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range w.streams {
		end()
	}
}

// follow returns a context that cut ends.
func (w *way) follow(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.numbers++
	n := w.numbers
	w.streams[n] = end
	return ctx, func() {
		end()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, n)
	}
}

var (
	errLost     = errors.New("the answer is lost, as was asked for")
	errRedirect = errors.New("the venue sends us elsewhere, and a rehearsal goes nowhere else")
)

type lost struct{}

// relay returns what passes requests on to one address, and to no other.
func (w *way) relay(to *url.URL, dial upstream.DialFunc) http.Handler {
	target := &url.URL{Scheme: "http" + strings.TrimPrefix(strings.TrimPrefix(to.Scheme, "http"), "ws"), Host: to.Host}
	transport := &http.Transport{DialContext: dial, TLSHandshakeTimeout: settleTime, ForceAttemptHTTP2: true, MaxIdleConns: 8, IdleConnTimeout: time.Minute}
	if dial == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Del("Accept-Encoding") // answers are read here
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode >= 300 && resp.StatusCode < 400 {
				return errRedirect
			}
			if err := w.record.note(resp); err != nil {
				return err
			}
			if resp.Request.Context().Value(lost{}) != nil {
				return errLost
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) { w.passOn(rw, req, proxy) })
}

func (w *way) passOn(rw http.ResponseWriter, req *http.Request, next http.Handler) {
	if req.Header.Get("Upgrade") != "" {
		ctx, end := w.follow(req.Context())
		defer end()
		next.ServeHTTP(rw, req.WithContext(ctx))
		return
	}
	f, wait := w.take(req)
	switch f {
	case pass:
	case loseRequest:
		panic(http.ErrAbortHandler) // closes the connection
	case loseAnswer:
		req = req.WithContext(context.WithValue(req.Context(), lost{}, true))
	case hold:
		if err := retry.Sleep(req.Context(), wait); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	next.ServeHTTP(rw, req)
}

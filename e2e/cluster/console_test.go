package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"candela/internal/store/receipt"
)

// browser is the owner's, in the console of one replica.
type browser struct {
	*site
	at   *replica
	http *http.Client
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// console logs in to the console of a replica.
func (s *site) console(at *replica) *browser {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	b := &browser{s, at, &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: from{"10.9.9.9", &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return at.at.dial(ctx, at.port) }}},
	}}
	b.send("/console/login", url.Values{"token": {b.token("/console/login", "")}, "passphrase": {passphrase}})
	return b
}

// get returns a page.
func (b *browser) get(path string) string {
	b.Helper()
	status, text := b.ask(http.MethodGet, path, nil)
	if status != http.StatusOK {
		b.Fatalf("%s: %s: %d\n%.500s", b.at.name, path, status, text)
	}
	return text
}

// send sends a form.
func (b *browser) send(path string, form url.Values) {
	b.Helper()
	if status, text := b.ask(http.MethodPost, path, form); status != http.StatusSeeOther {
		b.Fatalf("%s: %s: %d\n%.500s", b.at.name, path, status, text)
	}
}

// token returns the token of a form in a page, which begins with a text.
func (b *browser) token(page, begins string) string {
	b.Helper()
	_, form, found := strings.Cut(b.get(page), begins)
	token := formToken.FindStringSubmatch(form)
	if !found || token == nil {
		b.Fatalf("%s: %s has no form %s", b.at.name, page, begins)
	}
	return token[1]
}

func (b *browser) ask(method, path string, form url.Values) (status int, text string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.balancer.url()+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.balancer.url())
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestConsole_ActivityOfReplicas opens the page Activity at three replicas, one of which was killed: each shows the orders, alerts and logins of all, page by page and by kind,
// checks the chains, and saves the receipt of an order.
func TestConsole_ActivityOfReplicas(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, true, options{})
	var ids []string
	for i, r := range s.replicas {
		c := s.visitor(i, r, s.owner)
		s.enter(t.Context(), c)
		for n := range 3 {
			ids = append(ids, s.placed(c, fmt.Sprintf("activity-%d-%d", i, n)))
			s.alert(c, fmt.Sprintf("note %d of %s", n, r.name))
		}
	}
	s.replicas[0].kill()
	s.replicas[0].start(t)
	s.healthy()
	for _, r := range s.replicas {
		b := s.console(r)
		var orders string
		until(t, time.Minute, "the page has all orders", func() bool {
			orders = b.get("/console/activity?group=orders&since=all&steps=1")
			for _, id := range ids {
				if !strings.Contains(orders, "/console/orders/"+id) {
					return false
				}
			}
			return true
		})
		if strings.Contains(orders, "<code>alert_set</code>") {
			t.Errorf("%s: alerts among orders", r.name)
		}
		until(t, time.Minute, "the page has all alerts", func() bool {
			return strings.Count(b.get("/console/activity?group=alerts&since=all"), "<td><span class=\"st ") == 9
		})
		if page := b.get("/console/activity?since=all&q=client_approved"); strings.Count(page, "<code>client_approved</code>") < 3 {
			t.Errorf("%s: %d approvals of clients", r.name, strings.Count(page, "<code>client_approved</code>"))
		}
		b.send("/console/activity/verify", url.Values{"token": {b.token("/console/activity", `action="/console/activity/verify"`)}})
		if page := b.get("/console/activity"); !strings.Contains(page, "chain unbroken") || strings.Contains(page, "The log is not here") {
			t.Errorf("%s: the chains are not checked: %.800s", r.name, page)
		}
		keys, err := receipt.ParseKeys(s.published(r))
		if err != nil {
			t.Fatal(err)
		}
		d, err := receipt.Parse([]byte(b.get("/console/orders/" + ids[0] + "/receipt.json")))
		if err == nil {
			_, err = receipt.Verify(d, keys)
		}
		if err != nil || !strings.Contains(b.get("/console/orders/"+ids[0]), "Save receipt") {
			t.Errorf("%s: the receipt: %v", r.name, err)
		}
	}
}

package remote

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// redirect is where the answer of the consent page would be heard.
const redirect = "http://localhost:41999/callback"

// request finds the field of the form that names what is asked for.
func request(page string) (string, bool) {
	found := regexp.MustCompile(`name="request" value="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		return "", false
	}
	return html.UnescapeString(found[1]), true
}

// Owner lets clients in with the passphrase, or as a person at an identity provider, and stays
// logged in as a browser does. It is safe for concurrent use.
type Owner struct {
	Passphrase string
	Person     string // by whose name the provider of the tests knows this browser; "" for none

	mu      sync.Mutex // one page at a time: the first logs in for all
	cookies map[string]string
}

// page is an answer for a browser.
type page struct {
	status int
	text   string
	to     *url.URL // where it sends the browser, nil for nowhere
}

func (o *Owner) do(r *http.Request, client *http.Client) (*page, error) {
	for name, value := range o.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	r.Header.Set("Accept", "text/html")
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	for _, c := range response.Cookies() {
		if o.cookies == nil {
			o.cookies = map[string]string{}
		}
		if o.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(o.cookies, c.Name)
		}
	}
	to, _ := response.Location() // most pages send it nowhere
	return &page{response.StatusCode, string(body), to}, err
}

// decide opens the page of an authorization request, approves, and returns where
// the browser would be sent.
func (o *Owner) decide(ctx context.Context, base, ask string, client *http.Client) (*url.URL, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	open, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, http.NoBody)
	if err != nil {
		return nil, err
	}
	form, err := o.do(open, client)
	if err == nil && o.Person != "" {
		form, err = o.signIn(ctx, base, form, client)
	}
	if err != nil {
		return nil, err
	}
	name, ok := request(form.text)
	if !ok {
		return nil, &StatusError{"GET /authorize", form.status, form.text}
	}
	fields := url.Values{"request": {name}, "decision": {"approve"}}
	if strings.Contains(form.text, `type="password"`) {
		fields.Set("passphrase", o.Passphrase)
	}
	approve, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/consent", strings.NewReader(fields.Encode()))
	if err != nil {
		return nil, err
	}
	approve.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	approve.Header.Set("Origin", base)
	answer, err := o.do(approve, client)
	if err != nil {
		return nil, err
	}
	if answer.status != http.StatusSeeOther || answer.to == nil {
		return nil, &StatusError{"POST /consent", answer.status, answer.text}
	}
	return answer.to, nil
}

// signIn follows the browser to the provider and back.
func (o *Owner) signIn(ctx context.Context, base string, at *page, client *http.Client) (*page, error) {
	for hops := 0; at.to != nil && hops < 6; hops++ {
		next, err := http.NewRequestWithContext(ctx, http.MethodGet, at.to.String(), http.NoBody)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(at.to.String(), base+"/") {
			if at, err = o.do(next, client); err != nil {
				return nil, err
			}
			continue
		}
		next.Header.Set("X-Person", o.Person)
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(next)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
		to, _ := response.Location() // nowhere after an error
		at = &page{response.StatusCode, "the provider", to}
	}
	return at, nil
}

// EnterOnceUp enters as soon as the program listens. It gives up when ctx ends, or over, which is closed when the
// program has ended.
func (c *Client) EnterOnceUp(ctx context.Context, over <-chan struct{}) error {
	for {
		err := c.Enter(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-over:
			return errors.New("the program has ended")
		case <-ctx.Done():
			return err
		}
	}
}

// Enter registers, is let in and takes a token.
func (c *Client) Enter(ctx context.Context) error {
	var registered struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	c.token.Store("")
	body, err := json.Marshal(map[string]any{"client_name": c.Name, "redirect_uris": []string{redirect}})
	if err != nil {
		return err
	}
	answer, err := c.do(ctx, http.MethodPost, "/register", "application/json", string(body))
	if err == nil {
		err = json.Unmarshal(answer, &registered)
	}
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	const verifier = "0123456789abcdef0123456789abcdef0123456789abcdef"
	sum := sha256.Sum256([]byte(verifier))
	to, err := c.authorize(ctx, c.Base+"/authorize?"+url.Values{
		"client_id": {registered.ID}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	if err != nil {
		return fmt.Errorf("authorize: %w", err)
	}
	answer, err = c.do(ctx, http.MethodPost, "/token", "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "code_verifier": {verifier},
		"client_id": {registered.ID}, "client_secret": {registered.Secret}, "redirect_uri": {redirect},
	}.Encode())
	var got struct {
		Token string `json:"access_token"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err == nil && got.Token == "" {
		err = errors.New("no token in the answer")
	}
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	c.token.Store(got.Token)
	return nil
}

// authorize returns where the browser is sent with the code. The client's HTTP must
// not follow redirects: nobody listens there.
func (c *Client) authorize(ctx context.Context, ask string) (*url.URL, error) {
	if c.Owner != nil {
		return c.Owner.decide(ctx, c.Base, ask, c.HTTP)
	}
	open, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.HTTP.Do(open)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	return response.Location()
}

// Plain returns what a Client needs: it follows no redirects.
func Plain(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

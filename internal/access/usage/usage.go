// Package usage remembers what clients did with their tokens and which clients' access ended
// lately. It keeps that in memory, within bounds, from the start of the program.
package usage

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Bounds of what is remembered.
const (
	maxClients = 4096
	maxTools   = 64 // of one client in a day
	maxEnded   = 50
)

// Count is how often a tool was called.
type Count struct {
	Calls  int
	Failed int // of the calls, those that returned an error
}

// Use is what a client did.
type Use struct {
	Last  time.Time        // of the last call, zero for none
	Tool  string           // of the last call
	Today map[string]Count // by tool, in this UTC day
}

// Client is a client with access.
type Client struct {
	ID      string // of the token
	Key     string // identifies the token in the audit log
	Name    string // as it calls itself
	Target  string // where the access went, "" if unknown
	Scope   string
	Expires time.Time
}

// Reason is why access ended.
type Reason string

// The reasons.
const (
	Revoked    Reason = "revoked"
	RevokedAll Reason = "revoked with all others"
	Expired    Reason = "expired"
)

// Ended is a client whose access ended.
type Ended struct {
	Client
	At     time.Time
	Reason Reason
}

// Tracker counts calls and remembers ended clients. The zero value is ready. It is safe for
// concurrent use.
type Tracker struct {
	mu      sync.Mutex
	clients map[string]*client // by key
	ended   []Ended            // newest last
}

type client struct {
	Client
	known bool // Client is set
	seen  time.Time
	tool  string
	day   int64 // of today, in days since 1970
	today map[string]Count
}

// Called counts a call of a tool with the token that key identifies. Calls without a token
// are not counted.
func (t *Tracker) Called(key, tool string, failed bool, now time.Time) {
	if key == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.client(key, now)
	c.seen, c.tool = now, tool
	if day := dayOf(now); c.today == nil || c.day != day {
		c.day, c.today = day, make(map[string]Count)
	}
	count, counted := c.today[tool]
	if !counted && len(c.today) >= maxTools {
		return
	}
	count.Calls++
	if failed {
		count.Failed++
	}
	c.today[tool] = count
}

// Of returns what the client with a token did.
func (t *Tracker) Of(key string, now time.Time) Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[key]
	if c == nil {
		return Use{}
	}
	u := Use{Last: c.seen, Tool: c.tool}
	if c.day == dayOf(now) {
		u.Today = maps.Clone(c.today)
	}
	return u
}

// Know remembers clients that have access, so that Ended can name them.
func (t *Tracker) Know(now time.Time, clients ...Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range clients {
		c := t.client(one.Key, now)
		c.Client, c.known = one, true
	}
}

// Revoke remembers that the owner ended the access of a token, by its id.
func (t *Tracker) Revoke(id string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	t.end(now, Revoked, func(c *client) bool { return c.ID == id })
}

// RevokeAll remembers that the owner ended all access.
func (t *Tracker) RevokeAll(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	t.end(now, RevokedAll, func(*client) bool { return true })
}

// Ended lists the clients whose access ended since the start, newest first, at most 50.
func (t *Tracker) Ended(now time.Time) []Ended {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	all := slices.Clone(t.ended)
	slices.SortStableFunc(all, func(a, b Ended) int { return b.At.Compare(a.At) })
	return all
}

// expire ends the clients whose time is over.
func (t *Tracker) expire(now time.Time) {
	t.end(now, Expired, func(c *client) bool { return !c.Expires.IsZero() && !now.Before(c.Expires) })
}

// end moves the clients that match to the ended ones.
func (t *Tracker) end(now time.Time, why Reason, match func(*client) bool) {
	var gone []Ended
	for key, c := range t.clients {
		if !c.known || !match(c) {
			continue
		}
		at := now
		if why == Expired {
			at = c.Expires
		}
		gone = append(gone, Ended{Client: c.Client, At: at, Reason: why})
		delete(t.clients, key)
	}
	slices.SortFunc(gone, func(a, b Ended) int { return a.At.Compare(b.At) })
	t.ended = append(t.ended, gone...)
	if over := len(t.ended) - maxEnded; over > 0 {
		t.ended = slices.Clone(t.ended[over:])
	}
}

// client returns the record of a token, a new one if there is none. Beyond the bound, those
// that were used longest ago make room: several at once, so that one call in many pays for it.
func (t *Tracker) client(key string, now time.Time) *client {
	if c := t.clients[key]; c != nil {
		return c
	}
	if t.clients == nil {
		t.clients = make(map[string]*client)
	}
	if len(t.clients) >= maxClients {
		t.expire(now)
	}
	if len(t.clients) >= maxClients {
		oldest := slices.SortedFunc(maps.Keys(t.clients), func(a, b string) int { return t.clients[a].seen.Compare(t.clients[b].seen) })
		for _, key := range oldest[:maxClients/16] {
			delete(t.clients, key)
		}
	}
	c := &client{}
	t.clients[key] = c
	return c
}

func dayOf(now time.Time) int64 { return now.Unix() / (24 * 60 * 60) }

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// MaxListening is the number of subscriptions that a token may have open.
const MaxListening = 4

// Subscription is an open subscriptions/listen. The transport sends its Acknowledgement,
// then an Update after each change, and at last a Completion, unless the client ended it.
// One goroutine uses it.
type Subscription struct {
	job     *Job
	ctx     context.Context
	watch   Watch      // nil if no resource that was asked for exists
	tasks   *taskWatch // nil if no task that was asked for exists
	ack     []byte
	update  []byte
	closing []byte
}

// Listens reports whether the job opens a subscription. The transport then calls Subscribe
// and, if that returns nil, Append for the error.
func (j *Job) Listens() bool {
	s := j.server.modern
	return j.modern != nil && j.body.Calls[0].Method == methodListen && (s.resources != nil || s.tasks != nil) && j.modern.check(j.from.Header, j.body.Calls[0].Message) == nil
}

// Subscribe opens the subscription, or returns nil if it is refused. It may wait.
func (j *Job) Subscribe() *Subscription {
	began, s, m := time.Now(), j.server, j.body.Calls[0].Message
	uri, failure := s.modern.wanted(m.Params)
	var ids []string
	if failure == nil {
		ids, failure = s.modern.wantedTasks(j.modern, m.Params)
	}
	if failure == nil && !s.modern.enter(j.from.Caller.Key) {
		failure = &rpc.Error{Code: rpc.CodeRefused, Message: fmt.Sprintf("too many subscriptions: this client has %d open; end one first", MaxListening)}
	}
	if j.failed = failure; failure != nil {
		return nil
	}
	sub := &Subscription{job: j, ctx: j.active[0].ctx}
	if uri != "" {
		j.failed = s.guarded(sub.ctx, j.from, m.Method, func() (err error) {
			sub.watch, err = s.modern.resources.Watch(sub.ctx, j.from.Caller, uri)
			return err
		})
	}
	if j.failed == nil {
		ids, j.failed = sub.known(m.Method, ids)
	}
	if j.failed != nil {
		if sub.watch != nil {
			sub.watch.Close()
		}
		s.modern.leave(j.from.Caller.Key)
		return nil
	}
	sub.encode(m.ID, uri, ids)
	if len(ids) > 0 {
		sub.tasks = sub.follow(m.ID, ids)
	}
	line, took := logRecord{method: m.Method, revision: ModernVersion, client: j.modern.client}, time.Since(began)
	s.counters.add(&line, took)
	s.logMessage(j.ctx, j.from, line, took)
	return sub
}

// encode writes the messages of the subscription with the id of its request.
func (s *Subscription) encode(id json.RawMessage, uri string, tasks []string) {
	tag := subscriptionTag(id)
	var kinds []string
	if uri != "" {
		quoted := string(strictjson.AppendString(nil, uri))
		kinds = append(kinds, `"resourceSubscriptions":[`+quoted+`]`)
		s.update = []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag + `,"uri":` + quoted + `}}`)
	}
	if len(tasks) > 0 {
		kinds = append(kinds, `"taskIds":`+string(must(strictjson.Marshal(tasks))))
	}
	filter := "{" + strings.Join(kinds, ",") + "}"
	s.ack = []byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + `,"notifications":` + filter + `}}`)
	s.closing = rpc.AppendResult(nil, id, json.RawMessage(`{"resultType":"complete",`+tag+`}`))
}

// subscriptionTag is the member of each message that names the subscription.
func subscriptionTag(id json.RawMessage) string {
	return `"_meta":{"` + metaSubscription + `":` + string(id) + `}`
}

// Context ends when the client or its token ends the subscription.
func (s *Subscription) Context() context.Context { return s.ctx }

// Changed receives when Update is to be sent.
func (s *Subscription) Changed() <-chan struct{} {
	switch {
	case s.tasks != nil:
		return s.tasks.ready
	case s.watch == nil:
		return nil
	}
	return s.watch.Ready()
}

// Acknowledgement returns the first message.
func (s *Subscription) Acknowledgement() []byte { return s.ack }

// Update returns the message about a change.
func (s *Subscription) Update() []byte {
	if s.tasks != nil {
		return s.tasks.next()
	}
	return s.update
}

// Completion returns the last message. It is empty if the client cancelled.
func (s *Subscription) Completion() []byte {
	if errors.Is(context.Cause(s.ctx), errCancelled) {
		return nil
	}
	return s.closing
}

// Close ends the subscription.
func (s *Subscription) Close() {
	j := s.job
	if s.tasks != nil {
		s.tasks.close()
	}
	if s.watch != nil {
		s.watch.Close()
	}
	j.server.modern.leave(j.from.Caller.Key)
	j.server.active.remove(j.active[0])
}

// enter counts a subscription of a token and reports whether it may be opened.
func (m *modernServer) enter(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listening[key] >= MaxListening {
		return false
	}
	m.listening[key]++
	return true
}

func (m *modernServer) leave(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listening[key]--; m.listening[key] == 0 {
		delete(m.listening, key)
	}
}

// wanted returns the first known address in the filter of subscriptions/listen, "" for
// none. The acknowledgement names what is watched; kinds of notification besides changes
// of a resource are not offered.
func (m *modernServer) wanted(params json.RawMessage) (uri string, failure *rpc.Error) {
	filter, ok := member(params, "notifications", '{')
	if !ok {
		return "", invalidParams("notifications must be an object: the kinds of notification that the client wants")
	}
	list, ok := member(filter, "resourceSubscriptions", '[')
	if !ok && list == nil || m.resources == nil {
		return "", nil
	}
	valid := ok
	for item := range strictjson.Items(list) {
		text, isText := strictjson.Text(item)
		valid = valid && isText
		if _, known := m.find(text); known && uri == "" {
			uri = text
		}
	}
	if !valid {
		return "", invalidParams("notifications.resourceSubscriptions must be an array of addresses")
	}
	return uri, nil
}

// member returns a member of an object and whether it begins as wanted; nil if absent.
func member(object json.RawMessage, name string, open byte) (value json.RawMessage, ok bool) {
	for key, value := range strictjson.Fields(object) {
		if key == name {
			return value, value[0] == open
		}
	}
	return nil, false
}

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/kit/seal"
	"candela/internal/store/replica/conn"
)

const (
	// ownerTimeout is how long a call waits for someone who does what it asks for. A dead
	// owner is found out after five seconds, a new leader of the servers takes up to
	// eight.
	ownerTimeout = 10 * time.Second
	// replyTimeout bounds the wait for an answer. It is above writeTime: a call that
	// writes has its own answer by then.
	replyTimeout = 30 * time.Second
	// replyGrace is how long an answer may be on its way when its sender is gone.
	replyGrace = 250 * time.Millisecond
	// maxCalls is how many calls of others are under way here. One more is told to
	// try again.
	maxCalls = 256
	// maxPriorityCalls is the same for calls that must get through while there are that many.
	maxPriorityCalls = 16
)

// The kinds of answer.
const (
	replyDone    = "done"
	replyFailed  = "failed"
	replyRefused = "refused" // nothing was done; the caller tries again
	whyBusy      = "busy"
)

var (
	// ErrNotShardOwner is what a handler returns that did nothing because it cannot yet, or
	// no longer, do what an owner does. The call is tried again for a while. When that
	// does not help, Ask returns a fault that wraps it.
	ErrNotShardOwner = errors.New("not the owner")
	// ErrOutcomeUnknown is wrapped by the fault that Ask returns when the call was sent and
	// no answer came: it may have been carried out.
	ErrOutcomeUnknown = errors.New("the owner did not answer")
	// errBusy is an ErrNotOwner of one that has too many calls under way to say more.
	errBusy = fmt.Errorf("%w: it is busy", ErrNotShardOwner)
)

// backoff returns the delay between two attempts of a call that was not executed.
func backoff() retry.Backoff {
	return retry.Backoff{First: 5 * time.Millisecond, Max: 250 * time.Millisecond}
}

// Handler answers a call. Faults reach the caller whole; of other errors it gets the
// text.
type Handler = func(ctx context.Context, body []byte) ([]byte, error)

func (m *Group) peerSubject(id string) string { return m.table.Subject("peer", id) }

// Handle answers calls of a method. Until it is called, callers wait as if there was
// no owner.
func (m *Group) Handle(method string, h Handler) { m.handlers.Store(method, h) }

// Hold has calls of others end with the tokens that they act for: hold returns a
// context that does, as oauth.Leases.Hold.
func (m *Group) Hold(hold func(ctx context.Context, key string) (held context.Context, release func(), err error)) {
	m.hold.Store(&hold)
}

// Prioritize gives calls of a method turns of their own: none of the others holds them up.
func (m *Group) Prioritize(method string) { m.priorityMethods.Store(method, true) }

// Call calls a method at the owner of a name, which may be this replica. What is known
// not to have been carried out is tried again for up to ten seconds. Errors are the
// handler's own, a fault that wraps ErrNotOwner when nothing was done, or one that
// wraps ErrUnanswered when nobody knows.
func (m *Group) Call(ctx context.Context, name, method string, body []byte) ([]byte, error) {
	answer, err := m.callWithRetry(ctx, name, method, body)
	m.table.CountCall(outcome(err))
	return answer, err
}

// outcome classifies what became of a call.
func outcome(err error) string {
	switch {
	case err == nil:
		return conn.CallDone
	case errors.Is(err, ErrOutcomeUnknown):
		return conn.CallUnanswered
	case errors.Is(err, ErrNotShardOwner) && fault.KindOf(err) == fault.Unavailable:
		return conn.CallRefused
	default:
		return conn.CallFailed
	}
}

func (m *Group) callWithRetry(ctx context.Context, name, method string, body []byte) ([]byte, error) {
	deadline := time.NewTimer(ownerTimeout)
	defer deadline.Stop()
	// All attempts have one id: whoever carried one out takes no other, also when this
	// replica was made to believe that nobody got it.
	try := seal.Try{ID: seal.NewID()}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changed := m.Changed()
		try.Number++
		answer, err := m.callOwner(ctx, try, name, method, body)
		if !NotExecuted(err) {
			return answer, err
		}
		timer := time.NewTimer(backoff().Bound(int(try.Number)))
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-deadline.C:
			timer.Stop()
			return nil, fault.Unreachable(err, heartbeatEvery, "no replica is ready to do this; nothing was done; try again in a moment")
		}
	}
}

// NotExecuted reports whether nothing was done and the call may go to someone else. A
// fault is an answer, even one that was made of a refusal further on.
func NotExecuted(err error) bool { return errors.Is(err, ErrNotShardOwner) && fault.Of(err) == nil }

// callOwner asks who is the owner at this moment, once.
func (m *Group) callOwner(ctx context.Context, try seal.Try, name, method string, body []byte) ([]byte, error) {
	id, mine := m.ShardOwner(name)
	switch {
	case id == "":
		return nil, ErrNotShardOwner
	case !mine:
		return m.callReplica(ctx, try, id, name, method, body)
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return m.dispatch(ctx, name, method, body)
}

// callReplica asks another member, once. It answers if it owns the name, or if that is
// "".
func (m *Group) callReplica(ctx context.Context, try seal.Try, id, name, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	head := callHead{Try: try, Name: name, Method: method, Wait: time.Until(end).Milliseconds(), Token: principal.TokenOf(ctx)}
	call, err := m.sealCall(m.peerSubject(id), head, body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	ended := make(chan struct{})
	way := m.linkTo(id)
	go func() {
		defer close(ended)
		way.waitBroken(ctx)
		_ = retry.Sleep(ctx, replyGrace)
		cancel()
	}()
	answer, err := m.table.NATS().RequestMsgWithContext(ctx, call)
	cancel()
	<-ended
	switch {
	case undelivered(err):
		return nil, fmt.Errorf("%w: %w", ErrNotShardOwner, err)
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("call %s: %w", method, err)
	case err != nil:
		return nil, OutcomeUnknown(err)
	}
	return m.readReply(ctx, head.ID, answer)
}

// CallReplica calls a method at another replica once, whichever shards that one owns.
func (m *Group) CallReplica(ctx context.Context, id, method string, body []byte) ([]byte, error) {
	return m.callReplica(ctx, seal.Try{ID: seal.NewID()}, id, "", method, body)
}

// Declined reports whether a replica answered that it does not handle a call, now or at
// all.
func Declined(err error) bool {
	return NotExecuted(err) && !undelivered(err) && !errors.Is(err, errBusy)
}

// undelivered reports whether a call was not sent, or nobody got it.
func undelivered(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// OutcomeUnknown returns the fault of a call that another replica may have executed.
func OutcomeUnknown(err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "outcome_unknown", Retryable: true,
		Message: "another replica was asked and did not answer; it is not known whether this was done",
		Cause:   fmt.Errorf("%w: %w", ErrOutcomeUnknown, err),
	}
}

// onCall takes a call of another replica.
func (m *Group) onCall(msg *nats.Msg) {
	call, ours, err := m.admitCall(msg)
	if !ours {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock() // Close waits for all calls that began before it
	if err == nil && m.ctx.Err() != nil {
		err = ErrNotShardOwner
	}
	if err != nil {
		m.reply(call, nil, err)
		return
	}
	turns := m.callSlots
	if _, pressing := m.priorityMethods.Load(call.Method); pressing {
		turns = m.prioritySlots
	}
	select {
	case turns <- struct{}{}:
		m.wg.Go(func() {
			m.serve(call)
			<-turns
		})
	default:
		m.reply(call, nil, errBusy)
	}
}

// serve carries a call out and answers it.
func (m *Group) serve(call incoming) {
	wait := time.Duration(call.Wait) * time.Millisecond
	if wait <= 0 || wait > replyTimeout {
		wait = replyTimeout
	}
	ctx, cancel := context.WithTimeout(m.ctx, wait)
	defer cancel()
	body, err := m.dispatchFor(ctx, call)
	if errors.Is(err, ErrOutcomeUnknown) {
		return // nobody knows, and nobody waits
	}
	m.reply(call, body, err)
}

// dispatchFor carries a call out as long as the token is live that it acts for.
func (m *Group) dispatchFor(ctx context.Context, call incoming) ([]byte, error) {
	hold := m.hold.Load()
	if call.Token != "" && hold != nil {
		held, release, err := (*hold)(ctx, call.Token)
		if err != nil {
			return nil, err
		}
		defer release()
		ctx = held
	}
	return m.dispatch(ctx, call.Name, call.Method, call.body)
}

// dispatch carries a call out if the name is owned here, or if there is none.
func (m *Group) dispatch(ctx context.Context, name, method string, body []byte) (answer []byte, err error) {
	if _, mine := m.ShardOwner(name); !mine && name != "" {
		return nil, ErrNotShardOwner
	}
	h, ok := m.handlers.Load(method)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not handled yet", ErrNotShardOwner, method)
	}
	handler, ok := h.(Handler)
	if !ok {
		return nil, fmt.Errorf("the handler of %s is a %T", method, h)
	}
	// A call that breaks one replica must not go on to break the next.
	defer func() {
		if p := recover(); p != nil {
			m.log.ErrorContext(ctx, "call handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s panics: %v", method, p)
		}
	}()
	answer, err = handler(ctx, body)
	if err != nil && ctx.Err() != nil && fault.Of(err) == nil {
		return nil, OutcomeUnknown(err) // it was given up on the way
	}
	return answer, err
}

// reply answers a call. An answer that cannot be sent is one that does not come.
func (m *Group) reply(call incoming, body []byte, failed error) {
	if call.reply == "" {
		return
	}
	head := answerHead{Kind: replyDone}
	switch {
	case NotExecuted(failed):
		m.replays.Refuse(call.Try)
		head.Kind = replyRefused
		if errors.Is(failed, errBusy) {
			head.Why = whyBusy
		}
	case failed != nil:
		head.Kind, body = replyFailed, encodeFailure(failed)
	}
	answer, err := m.sealAnswer(call, head, body)
	if err == nil {
		err = m.table.NATS().PublishMsg(answer)
	}
	if err != nil && m.ctx.Err() == nil {
		m.log.WarnContext(m.ctx, "sending a reply failed", "method", call.Method, "error", err)
	}
}

func (m *Group) readReply(ctx context.Context, id seal.ID, answer *nats.Msg) ([]byte, error) {
	head, body, err := m.openAnswer(id, answer)
	if err != nil {
		m.table.Seals.Refuse(ctx, conn.ForgedAnswer, answer.Subject, err)
		return nil, OutcomeUnknown(err)
	}
	switch head.Kind {
	case replyDone:
		return body, nil
	case replyRefused:
		if head.Why == whyBusy {
			return nil, errBusy
		}
		return nil, ErrNotShardOwner
	case replyFailed:
	default:
		return nil, OutcomeUnknown(fmt.Errorf("an answer of the kind %q", head.Kind))
	}
	var form WireError
	if err := json.Unmarshal(body, &form); err != nil {
		return nil, OutcomeUnknown(err)
	}
	return nil, form.Err()
}

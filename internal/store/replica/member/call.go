package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/kit/seal"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

const (
	// ownerTimeout bounds the wait for a shard owner. A dead one is detected after five
	// seconds; electing a NATS leader takes up to eight.
	ownerTimeout = 10 * time.Second
	// replyTimeout bounds the wait for a reply. It exceeds the time limit of a write, which a
	// handler may wait for.
	replyTimeout = 30 * time.Second
	// replyGrace is how long a reply may still arrive after its sender is gone.
	replyGrace = 250 * time.Millisecond
	// maxCalls bounds the calls in progress. Further calls are refused as busy.
	maxCalls = 256
	// maxPriorityCalls is the same for calls with priority.
	maxPriorityCalls = 16
)

// The kinds of reply.
const (
	replyDone    = "done"
	replyFailed  = "failed"
	replyRefused = "refused" // not executed; the caller retries
	whyBusy      = "busy"
)

var (
	// ErrNotShardOwner is returned by a handler that did nothing because it is not, or not
	// yet, the shard owner. Call retries for a while and then returns a fault that wraps it.
	ErrNotShardOwner = errors.New("not the shard owner")
	// ErrOutcomeUnknown is wrapped by the fault of a call that was sent and got no reply: it
	// may have been executed.
	ErrOutcomeUnknown = errors.New("outcome unknown: no reply")
	// errBusy is an ErrNotShardOwner of a replica with too many calls in progress.
	errBusy = fmt.Errorf("%w: too many calls in progress", ErrNotShardOwner)
)

// Handler answers a call. The caller receives a fault whole, and only the text of other errors.
type Handler = func(ctx context.Context, body []byte) ([]byte, error)

func (m *Group) peerSubject(id string) string { return m.table.Subject("peer", id) }

// Handle registers the handler of a method. Until then callers wait as if there were no shard
// owner.
func (m *Group) Handle(method string, h Handler) { m.handlers.Store(method, h) }

// Hold sets a function that ties a call's context to the caller's token, such as
// oauth.Leases.Hold.
func (m *Group) Hold(hold func(ctx context.Context, key string) (held context.Context, release func(), err error)) {
	m.hold.Store(&hold)
}

// Prioritize reserves slots for a method, which other calls cannot block.
func (m *Group) Prioritize(method string) { m.priorityMethods.Store(method, true) }

// Call calls a method at the shard owner, which may be this replica. Calls that were not executed
// are retried for up to ten seconds. The error is the handler's own, a fault that wraps
// ErrNotShardOwner if nothing was executed, or one that wraps ErrOutcomeUnknown.
func (m *Group) Call(ctx context.Context, shard, method string, body []byte) ([]byte, error) {
	answer, err := m.callWithRetry(ctx, shard, method, body)
	m.table.CountCall(outcome(err))
	return answer, err
}

// outcome returns the counter label of a call's result.
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

func (m *Group) callWithRetry(ctx context.Context, shard, method string, body []byte) ([]byte, error) {
	deadline, lost := time.After(ownerTimeout), m.table.Lost()
	// All attempts share one ID, so a replica that executed one refuses the others, even if
	// this replica believes that none was delivered.
	try := seal.Try{ID: seal.NewID()}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		changed := m.Changed()
		try.Number++
		answer, err := m.callOwner(ctx, try, shard, method, body)
		if !NotExecuted(err) {
			return answer, err
		}
		select {
		case <-time.After(conn.Backoff().Bound(int(try.Number))):
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			return nil, nobodyReady(err)
		case <-lost.Done():
			return nil, nobodyReady(err)
		}
	}
}

func nobodyReady(err error) error {
	return fault.Unreachable(err, heartbeatEvery, "No replica is ready; nothing was executed. Retry in a moment.")
}

// NotExecuted reports whether nothing was executed and the call may be retried elsewhere. A
// fault is a reply, even if it wraps a refusal of another call.
func NotExecuted(err error) bool { return errors.Is(err, ErrNotShardOwner) && fault.Of(err) == nil }

// callOwner calls the present shard owner once.
func (m *Group) callOwner(ctx context.Context, try seal.Try, shard, method string, body []byte) ([]byte, error) {
	id, mine := m.ShardOwner(shard)
	switch {
	case id == "":
		return nil, ErrNotShardOwner
	case !mine:
		return m.callReplica(ctx, try, id, shard, method, body)
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return m.dispatch(ctx, shard, method, body)
}

// callReplica calls another replica once. It replies if it owns the shard, or if shard is "".
func (m *Group) callReplica(ctx context.Context, try seal.Try, id, shard, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	head := callHead{Try: try, Name: shard, Method: method, Wait: time.Until(end).Milliseconds(), Token: principal.TokenOf(ctx)}
	call, err := m.sealCall(m.peerSubject(id), head, body)
	if err != nil {
		return nil, fmt.Errorf("send call %s: %w", method, err)
	}
	ended := make(chan struct{})
	to := m.linkTo(id)
	go func() {
		defer close(ended)
		to.waitBroken(ctx)
		_ = retry.Sleep(ctx, replyGrace)
		cancel()
	}()
	stop := context.AfterFunc(m.table.Lost(), cancel) //nolint:contextcheck // of the connection, over which no reply comes then
	answer, err := m.table.NATS().RequestMsgWithContext(ctx, call)
	stop()
	cancel()
	<-ended
	switch {
	case undelivered(err):
		return nil, fmt.Errorf("%w: %w", ErrNotShardOwner, err)
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("send call %s: %w", method, err)
	case err != nil:
		return nil, OutcomeUnknown(err)
	}
	return m.readReply(ctx, head.ID, answer)
}

// CallReplica calls a method at another replica once, whichever shards it owns.
func (m *Group) CallReplica(ctx context.Context, id, method string, body []byte) ([]byte, error) {
	return m.callReplica(ctx, seal.Try{ID: seal.NewID()}, id, "", method, body)
}

// First calls a method at all other replicas at once and returns the first answer that is not empty, nil if there is none.
// A replica that is gone or does not know the method has none; of one that does not answer the error is returned, if no other has one.
func (m *Group) First(ctx context.Context, method string, body []byte) ([]byte, error) {
	type reply struct {
		body []byte
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	peers := m.Peers()
	replies := make(chan reply, len(peers))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	for _, p := range peers {
		asking.Go(func() {
			answer, err := m.CallReplica(ctx, p.ID, method, body)
			if NotExecuted(err) && !errors.Is(err, errBusy) {
				err = nil
			}
			replies <- reply{answer, err}
		})
	}
	var failed error
	for range peers {
		r := <-replies
		if r.err == nil && len(r.body) > 0 {
			return r.body, nil
		}
		failed = errors.Join(failed, r.err)
	}
	if failed != nil && fault.Of(failed) == nil {
		failed = nobodyReady(failed)
	}
	return nil, failed
}

// Declined reports whether a replica replied that it does not handle a call, yet or at all.
func Declined(err error) bool {
	return NotExecuted(err) && !undelivered(err) && !errors.Is(err, errBusy)
}

// undelivered reports whether a call was not sent or had no receiver.
func undelivered(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// OutcomeUnknown returns the fault of a call that another replica may have executed.
func OutcomeUnknown(err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "outcome_unknown", Retryable: true,
		Message: "Another replica did not reply, so the call may have been executed. Check before you retry.",
		Cause:   fmt.Errorf("%w: %w", ErrOutcomeUnknown, err),
	}
}

// onCall starts to serve a call of another replica.
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
	slots := m.callSlots
	if _, priority := m.priorityMethods.Load(call.Method); priority {
		slots = m.prioritySlots
	}
	select {
	case slots <- struct{}{}:
		m.wg.Go(func() {
			m.serve(call)
			<-slots
		})
	default:
		m.reply(call, nil, errBusy)
	}
}

func (m *Group) serve(call incoming) {
	wait := time.Duration(call.Wait) * time.Millisecond
	if wait <= 0 || wait > replyTimeout {
		wait = replyTimeout
	}
	ctx, cancel := context.WithTimeout(m.ctx, wait)
	defer cancel()
	body, err := m.dispatchFor(ctx, call)
	if errors.Is(err, ErrOutcomeUnknown) {
		return // the caller no longer waits
	}
	m.reply(call, body, err)
}

// dispatchFor executes a call while the caller's token is valid.
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

// dispatch executes a call if this replica owns the shard, or if shard is "".
func (m *Group) dispatch(ctx context.Context, shard, method string, body []byte) (answer []byte, err error) {
	if _, mine := m.ShardOwner(shard); !mine && shard != "" {
		return nil, ErrNotShardOwner
	}
	h, ok := m.handlers.Load(method)
	if !ok {
		return nil, fmt.Errorf("%w: no handler for %s", ErrNotShardOwner, method)
	}
	handler, ok := h.(Handler)
	if !ok {
		return nil, fmt.Errorf("handler for %s has type %T", method, h)
	}
	// A call that panics one replica must not be retried on the next.
	defer func() {
		if p := recover(); p != nil {
			m.log.ErrorContext(ctx, "call handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("handler for %s panicked: %v", method, p)
		}
	}()
	answer, err = handler(ctx, body)
	if err != nil && ctx.Err() != nil && fault.Of(err) == nil {
		return nil, OutcomeUnknown(err) // it was interrupted
	}
	return answer, err
}

// reply answers a call. If it cannot be sent, the caller times out.
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
		return nil, OutcomeUnknown(fmt.Errorf("unknown reply kind %q", head.Kind))
	}
	var form WireError
	if err := json.Unmarshal(body, &form); err != nil {
		return nil, OutcomeUnknown(err)
	}
	return nil, form.Err()
}

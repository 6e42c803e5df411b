package httpd

import (
	"candela/internal/serve/mcp"
)

// eventReply is a response of server-sent events: progress, then the answer.
type eventReply struct {
	out *frameWriter
	job *mcp.Job
	err error
}

// run executes a job. If the client asked for progress and the call has reported some, the
// response is an open stream of events, to which the answer is to be sent; otherwise it is nil
// and nothing was written.
func (s *Server) run(x *exchange, job *mcp.Job) ([]byte, *eventReply) {
	room := make([]byte, 0, 1<<10)
	var notices *mcp.Notices
	if asked := x.r.Header["Accept"]; len(asked) > 0 && accepts(asked, "text", "event-stream") {
		notices = job.Notices()
	}
	if notices == nil {
		return job.Append(room), nil
	}
	var events *eventReply // of the writer's goroutine until it has stopped
	stop := notices.Carry(func(message []byte) {
		if events == nil {
			events = &eventReply{out: s.openFrames(x.w), job: job}
		}
		if events.err == nil {
			events.err = events.out.write(event(message))
		}
	})
	reply := job.Append(room)
	stop()
	return reply, events
}

// send writes the answer as the last event.
func (e *eventReply) send(reply []byte) error {
	if e.err == nil && len(reply) > 0 {
		e.err = e.out.write(event(reply))
	}
	e.job.ReportSent(e.err == nil && len(reply) > 0)
	return e.err
}

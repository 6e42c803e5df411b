package task_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
	"candela/internal/serve/task"
)

// listen opens a subscription, or returns the refusal.
func (b *bench) listen(t *testing.T, by principal.Caller, capabilities, ids string) (*mcp.Subscription, string) {
	t.Helper()
	read, failure := rpc.Read([]byte(request(capabilities, "subscriptions/listen", `"notifications":{"taskIds":`+ids+`}`)))
	if failure != nil {
		t.Fatal(failure)
	}
	job := b.server.Receive(t.Context(), mcp.Origin{Caller: by}, read)
	if !job.Listens() {
		t.Fatal("it does not listen")
	}
	if sub := job.Subscribe(); sub != nil {
		t.Cleanup(sub.Close)
		return sub, ""
	}
	return nil, string(job.Append(nil))
}

func TestListen_ToTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, ann := serve(t, task.Config{Wait: time.Second}), caller("ann", "a")
		id, foreign := b.begin(t, ann, `{}`), b.begin(t, caller("bob", "b"), `{}`)
		sub, refusal := b.listen(t, ann, declared, fmt.Sprintf(`[%q,%q,%q,"run-AAAAAAAAAAAAAAAA"]`, id, id, foreign))
		if sub == nil {
			t.Fatal(refusal)
		}
		tag := `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
		wantIn(t, string(sub.Acknowledgement()), tag, `"notifications":{"taskIds":["`+id+`"]}`)
		<-sub.Changed()
		wantIn(t, string(sub.Update()), `"method":"notifications/tasks","params":{`+tag+`,"taskId":"`+id+`","status":"working"`)
		time.Sleep(time.Minute)
		if got := sub.Update(); got != nil {
			t.Errorf("nothing has changed, and it says %s", got)
		}
		close(b.release)
		<-sub.Changed()
		_, task, _ := strings.Cut(b.get(t, ann, id), `"taskId"`)
		wantIn(t, string(sub.Update()), `"taskId"`+strings.TrimSuffix(task, "}"))
		time.Sleep(time.Minute)
		if got := sub.Update(); got != nil {
			t.Errorf("after the end it says %s", got)
		}
	})
}

func TestListen_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	b, ann := serve(t, task.Config{}), caller("ann", "a")
	many := strings.TrimSuffix(strings.Repeat(`"x%d",`, 17), ",")
	for i := range 17 {
		many = strings.Replace(many, "%d", strconv.Itoa(i), 1)
	}
	for name, c := range map[string]struct{ capabilities, ids, want string }{
		"without the capability": {silent, `["x"]`, `"code":-32021`},
		"no list":                {declared, `"x"`, `"code":-32602`},
		"no text":                {declared, `[5]`, `"code":-32602`},
		"too many":               {declared, "[" + many + "]", `at most 16 ids`},
	} {
		sub, refusal := b.listen(t, ann, c.capabilities, c.ids)
		if sub != nil || !strings.Contains(refusal, c.want) {
			t.Errorf("%s: %s", name, refusal)
		}
	}
	if sub, refusal := b.listen(t, ann, declared, `["x","x"]`); sub == nil || !strings.Contains(string(sub.Acknowledgement()), `"notifications":{}`) {
		t.Errorf("what is unknown is refused: %s", refusal)
	}
}

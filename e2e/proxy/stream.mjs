// One event stream of GET /mcp, read as it arrives. It is never opened again: that it
// lasts is what is tested.
import { setTimeout as sleep } from "node:timers/promises";

export class Stream {
  events = []; // of alerts: { arrived, record, comments: how many came in the same piece after it }
  beats = []; // when anything came
  comments = 0;
  ended; // why, once it has

  constructor(base, token) {
    this.#abort = new AbortController();
    this.opened = new Promise((resolve) => { this.#first = resolve; });
    this.over = this.#read(base, token).catch((error) => { this.ended ??= String(error.cause ?? error); });
  }

  #abort;
  #first;
  #piece = 0; // alerts that came before the piece that is read

  async #read(base, token) {
    const response = await fetch(`${base}/mcp`, { headers: { Authorization: `Bearer ${token}`, Accept: "text/event-stream" }, signal: this.#abort.signal });
    if (response.status !== 200) throw new Error(`the stream is answered with ${response.status}`);
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      this.beats.push(Date.now());
      this.#first();
      this.#piece = this.events.length;
      text += chunk;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) this.#frame(text.slice(0, end));
    }
    this.ended = "the server closed it";
  }

  #frame(frame) {
    if (frame.startsWith(":")) {
      this.comments++;
      for (const e of this.events.slice(this.#piece)) e.comments++;
      return;
    }
    const data = frame.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5)).join("\n");
    const message = JSON.parse(data);
    if (message.method === "notifications/alert_triggered") this.events.push({ arrived: Date.now(), record: message.params, comments: 0 });
  }

  // noted waits for the alert with a note.
  async noted(note) {
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const found = this.events.find((e) => e.record.note === note);
      if (found) return found;
      if (this.ended) throw new Error(`the stream ended before ${note}: ${this.ended}`);
      await sleep(5);
    }
    throw new Error(`${note} did not arrive`);
  }

  close() {
    this.ended ??= "closed here";
    this.#abort.abort();
  }
}

// A tap between a client and candela. It changes no byte and writes one line of JSON for
// each message that matters, so that a row of the table also shows the wire.
// usage, for stdio: tap.mjs LOG COMMAND ARGUMENTS...
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { Agent, createServer, request as ask } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

// Wire turns messages of one connection into entries.
class Wire {
  #asked = new Map(); // the methods of requests that have no answer yet

  constructor(note) { this.note = note; }

  sent(text) {
    const message = parse(text);
    if (message?.method === undefined) return;
    if (message.id !== undefined) this.#asked.set(message.id, message);
    else this.note({ notified: message.method });
  }

  received(text) {
    const message = parse(text);
    if (message?.method !== undefined) this.note({ pushed: message.method });
    const request = this.#asked.get(message?.id);
    if (!request || message.method !== undefined) return;
    this.#asked.delete(message.id);
    this.note({
      method: request.method,
      revision: request.params?.protocolVersion,
      speaks: request.params?._meta?.["io.modelcontextprotocol/protocolVersion"] ?? "2025-03-26",
      name: request.params?.name,
      ...(message.error ? { error: message.error.message } : { bytes: sizeOfResult(text), tools: message.result?.tools?.length }),
    });
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not one message
  }
}

// sizeOfResult counts the bytes of the result as it was sent, without the envelope: the
// id in it has the length that the client gave it.
function sizeOfResult(text) {
  const from = text.indexOf('"result":') + '"result":'.length;
  return Buffer.byteLength(text.slice(from, text.lastIndexOf("}")).trim());
}

// tapHTTP listens at port and passes every request on to the other port.
export function tapHTTP(port, to, note) {
  const agent = new Agent({ keepAlive: false }); // a restart leaves no old connection behind
  let streams = 0;
  const server = createServer((request, response) => {
    const wire = new Wire(note);
    const up = ask({ host: "127.0.0.1", port: to, method: request.method, path: request.url, headers: request.headers, agent });
    response.on("close", () => up.destroy());
    up.on("error", () => response.destroy()); // as when nothing listens
    up.on("response", (answer) => {
      response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
      response.flushHeaders();
      answer.on("error", () => response.destroy());
      answer.pipe(response);
      if (answer.headers["content-type"]?.startsWith("text/event-stream")) {
        note({ stream: ++streams });
        createInterface({ input: answer }).on("line", (line) => { if (line.startsWith("data:")) wire.received(line.slice(5)); }).on("error", () => {});
        return;
      }
      const parts = [];
      answer.on("data", (part) => parts.push(part)).on("end", () => wire.received(Buffer.concat(parts).toString()));
    });
    const parts = [];
    request.on("data", (part) => parts.push(part)).on("end", () => wire.sent(Buffer.concat(parts).toString()));
    request.pipe(up);
  });
  return new Promise((resolve) => server.listen(port, "localhost", () => resolve(server)));
}

function tapStdio(log, command, args) {
  const wire = new Wire((entry) => appendFileSync(log, JSON.stringify(entry) + "\n"));
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: process.stdin }).on("line", (line) => wire.sent(line));
  createInterface({ input: child.stdout }).on("line", (line) => wire.received(line));
  process.stdin.pipe(child.stdin);
  child.stdout.pipe(process.stdout);
  child.stdin.on("error", () => {}); // it ended first; its exit is what counts
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("close", (code) => process.exit(code ?? 1));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [log, command, ...args] = process.argv.slice(2);
  tapStdio(log, command, args);
}

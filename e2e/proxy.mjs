// A loopback proxy that adds the bearer token, for clients that cannot.
// usage: proxy.mjs PORT TARGET_PORT TOKEN
import http from "node:http";

const [port, target, token] = process.argv.slice(2);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const upstream = http.request(
    { host: "127.0.0.1", port: target, method: request.method, path: request.url, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
});

server.listen(Number(port), "127.0.0.1", () => console.log("ready"));

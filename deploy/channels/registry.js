// node registry.js FOLDER: a package registry on the loopback with the npm packages of a
// folder. It prints its address; the end of its input ends it.
"use strict";
const fs = require("node:fs");
const { createHash } = require("node:crypto");
const { execFileSync } = require("node:child_process");
const path = require("node:path");

const folder = process.argv[2];
const packages = {};
for (const file of fs.readdirSync(folder)) {
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path.join(folder, file), "package/package.json"]));
  const integrity = `sha512-${createHash("sha512").update(fs.readFileSync(path.join(folder, file))).digest("base64")}`;
  packages[manifest.name] = { file, manifest, integrity };
}

const server = require("node:http").createServer((request, response) => {
  const asked = decodeURIComponent(request.url.slice(1));
  const found = packages[asked];
  if (found) {
    const { manifest, integrity, file } = found;
    const dist = { integrity, tarball: `http://127.0.0.1:${server.address().port}/-/${file}` };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        name: manifest.name,
        "dist-tags": { latest: manifest.version },
        versions: { [manifest.version]: { ...manifest, dist } },
      }),
    );
  } else if (asked.startsWith("-/") && Object.values(packages).some((p) => asked === `-/${p.file}`)) {
    fs.createReadStream(path.join(folder, asked.slice(2))).pipe(response);
  } else {
    response.writeHead(404).end();
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.resume().on("end", () => process.exit());

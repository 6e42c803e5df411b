// Fenced blocks of a markdown file, so that what the documentation shows is what
// the tests run.
import { readFileSync } from "node:fs";

// fences lists the blocks: the words behind the opening fence, the heading they
// stand under, and their text without the indentation of the fence.
export function fences(file) {
  const found = [];
  let open, heading = "";
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const mark = /^(\s*)```(.*)$/.exec(line);
    if (!open && mark) open = { heading, words: mark[2].trim().split(/\s+/), lines: [], indent: mark[1].length };
    else if (open && mark) {
      found.push({ heading: open.heading, words: open.words, text: open.lines.join("\n") + "\n" });
      open = undefined;
    } else if (open) open.lines.push(line.slice(open.indent));
    else if (/^#+ /.test(line)) heading = line.replace(/^#+ /, "");
  }
  if (open) throw new Error(`${file}: a fence under ${heading} has no end`);
  return found;
}

// usage: fence.mjs FILE WORDS HEADING: prints the one block that begins with these
// words, such as "sh run", under that heading.
if (process.argv[1] === import.meta.filename) {
  const [file, words, heading] = process.argv.slice(2);
  const blocks = fences(file).filter((f) => f.words.join(" ") === words && f.heading === heading);
  if (blocks.length !== 1) throw new Error(`${file} has ${blocks.length} blocks of ${words} under ${heading}`);
  process.stdout.write(blocks[0].text);
}

// install.mjs CANDELA WORK CASES: candela install edits files of Goose, and a YAML library by
// others says what they hold before and after.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Document, parse, parseDocument, visit } from 'yaml';

const [candela, work, cases] = process.argv.slice(2);
const folder = join(work, 'goose');
mkdirSync(folder);
const file = join(folder, 'config.yaml');

// draw returns a number below n. One seed has one run.
let state = 20261116;
function draw(n) {
	state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
	return Math.floor((state / 2 ** 32) * n);
}
const pick = (list) => structuredClone(list[draw(list.length)]); // one object twice would become an anchor

const scalars = [
	'x', '', '# not a comment', 'a: b', 'extensions:\n  candela: {}\n', 'two\n\nlines', ' blanks ', 'é ☃', '"quoted"', "it's", 'null', 'yes', '0x1F', '1e3', '- a',
	1, -0.5, true, false, null, [], {}, ['--a', '--b'], [{ a: 1 }, [2, 3]], { A: 'b', 'x y': ['c'] }, 'long '.repeat(40), '%x', '@x', '&x', '*x', '!x', '|', '>', '...', '---',
];

// config returns a file as people, editors and Goose write it.
function config() {
	const value = {};
	for (const key of ['GOOSE_MODEL', 'GOOSE_PROVIDER', 'x y', 'é', '1']) if (draw(3) === 0) value[key] = pick(scalars);
	const had = draw(4) > 0;
	if (had) {
		value.extensions = {};
		for (const name of ['developer', 'memory', 'other thing', 'candela']) {
			if (draw(3) === 0) continue;
			value.extensions[name] = { enabled: draw(2) === 0, type: pick(['builtin', 'stdio', 'sse']), name };
			for (const key of ['cmd', 'args', 'uri', 'envs', 'timeout', 'description']) if (draw(2) === 0) value.extensions[name][key] = pick(scalars);
		}
		if (draw(4) === 0) value.extensions = pick([{}, null]);
	}
	for (const key of ['GOOSE_MODE', 'hints']) if (draw(3) === 0) value[key] = pick(scalars);
	const document = new Document(value);
	delete document.contents.flow;
	const remark = () => pick([' mine', ' a: {', ' "', ' extensions:', ' two\n lines']);
	if (draw(2) === 0) document.commentBefore = remark();
	visit(document, {
		Scalar(key, node) {
			if (key === 'key' && draw(5) === 0) node.commentBefore = remark();
			if (key === 'key' && draw(8) === 0) node.spaceBefore = true;
			if (key === 'value' && draw(6) === 0) node.comment = pick([' why', ' #', " it's"]);
		},
		Collection(key, node) {
			if (key !== null && draw(5) === 0 && !deep(node)) node.flow = true;
		},
	});
	// Only a value without mappings of its own may be in braces: candela edits no others.
	function deep(node) {
		return node.items.some((item) => item.value?.items || item.items) || node.items.some((item) => item.key?.value === 'enabled');
	}
	const text = document.toString({ indent: pick([2, 4]), indentSeq: draw(2) === 0, lineWidth: pick([0, 80]), nullStr: pick(['null', '~', '']), directives: draw(5) === 0 });
	return pick([text, text, text.replaceAll('\n', '\r\n'), text.replace(/\n$/, '')]);
}

function run(expected, ...args) {
	const { status, stdout, stderr } = spawnSync(candela, [...args, '--file', file], { encoding: 'utf8' });
	assert.equal(status, expected, `${args.join(' ')}: ${stdout}${stderr}\n${readFileSync(file, 'utf8')}`);
	return stdout + stderr;
}

// held returns what a file has beside candela, and candela's own entry.
function held(text) {
	const document = parseDocument(text);
	assert.deepEqual(document.errors, [], text);
	const rest = document.toJS() ?? {};
	const own = rest.extensions?.candela;
	if (rest.extensions) delete rest.extensions.candela;
	if (!rest.extensions || Object.keys(rest.extensions).length === 0) delete rest.extensions;
	return { rest, own };
}

const owned = ['type', 'command', 'args', 'url', 'cmd', 'uri'];
let edited = 0, refused = 0;
for (let i = 0; i < Number(cases); i++) {
	const text = config();
	const before = held(text);
	rmSync(folder, { recursive: true });
	mkdirSync(folder);
	writeFileSync(file, text);
	const remote = draw(2) === 0;
	const args = ['install', 'goose', ...(remote ? ['--url', 'https://charts.example.com'] : ['--trade'])];
	if (/last line has no line break/.test(spawnSync(candela, [...args, '--dry-run', '--file', file], { encoding: 'utf8' }).stderr)) {
		run(1, ...args);
		assert.equal(readFileSync(file, 'utf8'), text, 'a refused file was changed');
		refused++;
		continue;
	}
	run(0, ...args);
	const written = readFileSync(file, 'utf8');
	const after = held(written);
	assert.deepEqual(after.rest, before.rest, `${text}\n${written}`);
	const want = { enabled: true, name: 'candela', description: 'Charts, indicators, alerts and trading', timeout: 300, ...before.own };
	for (const key of owned) delete want[key];
	Object.assign(want, remote ? { type: 'streamable_http', uri: 'https://charts.example.com/mcp' } : { type: 'stdio', cmd: candela, args: ['--mcp', '--trade'] });
	assert.deepEqual(after.own, want, `${text}\n${written}`);
	if (!before.own) {
		const lines = written.split(/\r?\n/);
		for (const line of text.split(/\r?\n/).filter((l) => l !== '{}')) {
			const at = lines.indexOf(line.replace(/^(extensions:) (\{\}|null|~)/, '$1'));
			assert.ok(at >= 0, `the line ${line} is gone\n${text}\n${written}`);
			lines.splice(0, at + 1);
		}
	}
	assert.match(run(0, ...args), /already has/);
	run(0, 'uninstall', 'goose');
	const removed = held(readFileSync(file, 'utf8'));
	assert.deepEqual(removed, { rest: before.rest, own: undefined }, text);
	edited++;
}

// Forms that candela does not edit, which the library reads without complaint.
for (const text of ['{extensions: {x: {enabled: true}}}\n', 'extensions: {x: {enabled: true}}\n', 'a: &x {}\nextensions: *x\n', '? extensions\n: x: {}\n', 'a: 1\n...\n', '--- 1\n--- 2\n']) {
	writeFileSync(file, text);
	assert.match(run(1, 'install', 'goose'), /was not changed: line \d/);
	assert.equal(readFileSync(file, 'utf8'), text);
}
assert.ok(edited > refused * 5, `${edited} edited, ${refused} refused`);
assert.deepEqual(parse('extensions: {}').extensions, {});
console.log(`install: ok, ${edited} files edited, ${refused} refused`);

// Writes beside each part of the executable the code that V8 compiles of it: what `berth version` runs, and what runs when the other parts are loaded. To be run
// by the Node that the executable gets, as no other understands that code. `--check` throws where V8 would not take it.
// usage: node code-cache.mjs [--check] FOLDER PART...
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix } from "node:path";
import { Script } from "node:vm";

const require = createRequire(import.meta.url);
const words = process.argv.slice(2);
const isCheck = words[0] === "--check";
const [folder, ...parts] = isCheck ? words.slice(1) : words;
const scripts = new Map();
const modules = new Map();

/** As executable-start.ts loads it. */
function load(name) {
  const known = modules.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  modules.set(name, module);
  const script = new Script(readFileSync(join(folder, name), "utf8"), { filename: name });
  scripts.set(name, script);
  const loadFrom = (wanted) =>
    wanted.startsWith(".") ? load(posix.join(posix.dirname(name), wanted)) : require(wanted);
  script.runInThisContext()(module.exports, loadFrom, module);
  return module.exports;
}

function check(name) {
  const cachedData = readFileSync(join(folder, `${name}.cache`));
  const text = readFileSync(join(folder, name), "utf8");
  const { cachedDataRejected } = new Script(text, { filename: name, cachedData });
  if (cachedDataRejected) throw new Error(`V8 does not take the code of ${name}`);
}

if (isCheck) {
  for (const part of parts) check(part);
} else {
  // The last part is the program, which begins to run; no agent is found in an empty folder.
  process.argv = [process.execPath, process.execPath, "version"];
  process.env.BERTH_DATA_DIR = folder;
  process.on("exit", () => {
    for (const [name, script] of scripts) {
      writeFileSync(join(folder, `${name}.cache`), script.createCachedData());
    }
  });
  for (const part of parts) load(part);
}

// The main program of the one executable: loads the bundled program and its parts from the data of the executable, each with the code that V8
// has compiled of it before. Started with `--part=NAME` it is that part: a process of the agent's own, such as its helper for foreign files.
import { posix } from "node:path";
import { getAsset, getRawAsset } from "node:sea";
import { Script } from "node:vm";

type Load = (name: string) => unknown;
type Part = (exports: object, load: Load, module: { exports: object }) => void;

const loaded = new Map<string, { exports: object }>();

function load(name: string): unknown {
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(name, module);
  const cachedData = Buffer.from(getRawAsset(`${name}.cache`) as ArrayBuffer);
  const script = new Script(getAsset(name, "utf8"), { filename: name, cachedData });
  const part: Part = script.runInThisContext();
  const folder = posix.dirname(name);
  part(
    module.exports,
    (wanted) => (wanted.startsWith(".") ? load(posix.join(folder, wanted)) : require(wanted)),
    module,
  );
  return module.exports;
}

const [, part] = /^--part=([\w-]+)$/.exec(process.argv[2] ?? "") ?? [];
load(part === undefined ? "berth.js" : `parts/${part}.js`);

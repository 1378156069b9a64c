// Draws a processor profile of Node as a flame graph: node tools/run.mjs test/bench/flame-graph.ts PROFILE OUT.svg
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

/** What `node --cpu-prof` writes. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** One function as called from one place, with everything it called. */
interface Frame {
  readonly name: string;
  microseconds: number;
  readonly children: Map<string, Frame>;
}

const width = 1200;
const rowHeight = 16;
/** What is narrower is left out: it would be unreadable, and the graph stays small. */
const leastWidth = 2;
const leastLetters = 3;
const letterWidth = 6.2;
const headHeight = 30;
/** Time in which the process had nothing to do, and what Node calls the way down to the program. */
const leftOut: ReadonlySet<string> = new Set(["(idle)", "(program)"]);

const [input, output] = process.argv.slice(2);
if (input === undefined || output === undefined) throw new Error("usage: PROFILE OUT.svg");
const root = readFrames(JSON.parse(readFileSync(input, "utf8")) as CpuProfile);
writeFileSync(output, draw(root));

function readFrames({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const selfOf = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    selfOf.set(id, (selfOf.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const nodeOf = new Map(nodes.map((node) => [node.id, node]));
  const all: Frame = { name: "busy", microseconds: 0, children: new Map() };
  const add = (id: number, parent: Frame): number => {
    const node = nodeOf.get(id);
    if (node === undefined || leftOut.has(node.callFrame.functionName)) return 0;
    const name = frameName(node.callFrame);
    const frame = parent.children.get(name) ?? { name, microseconds: 0, children: new Map() };
    parent.children.set(name, frame);
    const own = selfOf.get(id) ?? 0;
    const total = (node.children ?? []).reduce((sum, child) => sum + add(child, frame), own);
    frame.microseconds += total;
    return total;
  };
  for (const child of nodes[0]?.children ?? []) all.microseconds += add(child, all);
  return all;
}

function frameName({ functionName, url }: CpuProfile["nodes"][number]["callFrame"]): string {
  const file = url.startsWith("node:") ? url : basename(url).replace(/-[A-Z0-9]{8}\.js$/, "");
  // A bundled package's own function is named after the place it was bundled from.
  const name = functionName.replace(/^.*node_modules\//, "");
  return `${name === "" ? "(anonymous)" : name} ${file}`.trim();
}

function draw(all: Frame): string {
  const parts: string[] = [];
  let depth = 0;
  const place = (frame: Frame, x: number, level: number): void => {
    const size = (frame.microseconds / all.microseconds) * width;
    if (size < leastWidth) return;
    depth = Math.max(depth, level);
    parts.push(box(frame, x, headHeight + level * rowHeight, size));
    let at = x;
    for (const child of [...frame.children.values()].toSorted(byTime)) {
      place(child, at, level + 1);
      at += (child.microseconds / all.microseconds) * width;
    }
  };
  place(all, 0, 0);
  const height = headHeight + (depth + 1) * rowHeight + 4;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    "<style>text{font:10px monospace;fill:#222;pointer-events:none}.a{fill:#f5b26b}.b{fill:#f5c66b}.c{fill:#f0a06b}.d{fill:#f3d98a}</style>",
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="4" y="18">${(all.microseconds / 1000).toFixed(0)} ms of processor time</text>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function box({ name, microseconds }: Frame, x: number, y: number, size: number): string {
  const letters = Math.floor(size / letterWidth);
  const label = letters < leastLetters ? "" : escape(name.slice(0, letters));
  const text = label === "" ? "" : `<text x="${(x + 2).toFixed(1)}" y="${y + 11}">${label}</text>`;
  const shade = "abcd".charAt(name.length % 4);
  const title = `<title>${escape(name)}: ${(microseconds / 1000).toFixed(1)} ms</title>`;
  const at = `x="${x.toFixed(1)}" y="${y}" width="${size.toFixed(1)}" height="${rowHeight - 1}"`;
  return `<rect class="${shade}" ${at}>${title}</rect>${text}`;
}

function byTime(a: Frame, b: Frame): number {
  return b.microseconds - a.microseconds;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

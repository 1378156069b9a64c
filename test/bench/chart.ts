import type { BenchReport } from "./report.ts";
import { floor } from "./results.ts";

const width = 900;
const labelWidth = 330;
const barHeight = 13;
const groupGap = 12;
const colours = ["#b8bcc4", "#2f6fde", "#e0872a", "#4c9f58", "#a056b8"];

/** Bars for every metric, each group as wide as its largest value. */
export function reportChart({ date, machine, contenders, results }: BenchReport): string {
  const subjects = [floor, ...Object.keys(contenders)];
  const parts: string[] = [];
  let y = 58;
  for (const { title, unit, subjects: found, case: letter } of results) {
    const bars = subjects.filter((subject) => found[subject] !== undefined);
    const longest = Math.max(...bars.map((subject) => found[subject]?.median ?? 0), 0.001);
    const middle = y + (bars.length * barHeight) / 2 + 4;
    parts.push(text(8, middle, `${letter}  ${title}, ${unit}`, "label"));
    for (const subject of bars) {
      const value = found[subject]?.median ?? 0;
      const length = (value / longest) * (width - labelWidth - 80);
      const colour = colours[subjects.indexOf(subject) % colours.length];
      parts.push(
        `<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight - 2}" fill="${colour}"/>`,
        text(labelWidth + length + 5, y + barHeight - 4, format(value), "value"),
      );
      y += barHeight;
    }
    y += groupGap;
  }
  const legend = subjects.map((subject, index) => {
    const x = labelWidth + index * 130;
    const colour = colours[index % colours.length];
    return `<rect x="${x}" y="30" width="11" height="11" fill="${colour}"/>${text(x + 16, 40, subject, "label")}`;
  });
  const about = `${date.slice(0, 10)}, ${machine["cores"]} cores, medians; shorter is better`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}">`,
    "<style>text{font:11px sans-serif;fill:#333}.title{font-weight:bold;font-size:13px}.value{font-size:10px}</style>",
    `<rect width="${width}" height="${y}" fill="#fff"/>`,
    text(8, 18, `Berth's benchmark (${about})`, "title"),
    ...legend,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function text(x: number, y: number, content: string, kind: string): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${kind}">${escaped}</text>`;
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

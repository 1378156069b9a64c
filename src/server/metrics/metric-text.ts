/** One measured value of a family. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** When it was measured; now, where absent. */
  readonly timeMs?: number | undefined;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly samples: readonly MetricSample[];
}

/** Families in Prometheus' text format, by name; one without samples is left out. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(formatFamily)
    .join("");
}

function formatFamily({ name, help, type, samples }: MetricFamily): string {
  const lines = samples.map(({ labels, value, timeMs }) => {
    const time = timeMs === undefined ? "" : ` ${Math.trunc(timeMs)}`;
    return `${name}${formatLabels(labels)} ${formatNumber(value)}${time}`;
  });
  const text = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `${[`# HELP ${name} ${text}`, `# TYPE ${name} ${type}`, ...lines.toSorted()].join("\n")}\n`;
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** The shortest text of a number, with an exponent of two digits from a million on. */
function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

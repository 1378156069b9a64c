import { type Difference, differences } from "./compare.ts";
import type { VectorFile } from "./load-vectors.ts";
import type { VectorDomain } from "./vector-domain.ts";

interface VectorFailure {
  readonly vector: string;
  readonly differences: readonly Difference[];
}

export interface DomainReport {
  readonly domain: string;
  readonly total: number;
  readonly passed: number;
  readonly failures: readonly VectorFailure[];
}

/** Feeds every vector of the file to the domain. A thrown error is a failure of that vector. */
export async function runDomain(domain: VectorDomain, file: VectorFile): Promise<DomainReport> {
  const failures: VectorFailure[] = [];
  for (const { name, input, expected } of file.vectors) {
    const found = await runVector(domain, input, expected);
    if (found.length > 0) failures.push({ vector: name, differences: found });
  }
  const total = file.vectors.length;
  return { domain: domain.name, total, passed: total - failures.length, failures };
}

async function runVector(
  { run, comparable }: VectorDomain,
  input: unknown,
  expected: unknown,
): Promise<Difference[]> {
  try {
    const actual: unknown = await run(input);
    const view = (value: unknown) => (comparable === undefined ? value : comparable(value, input));
    return differences(view(expected), view(actual));
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [{ path: "(thrown)", expected, actual: text }];
  }
}

import { expand, maxExpandedBytes } from "../../../src/core/env/expansion.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface ExpansionInput {
  readonly template: string;
  readonly vars: Readonly<Record<string, string>>;
}

export const expansion: VectorDomain = vectorDomain<ExpansionInput>(
  "expansion",
  ({ template, vars }) => ({ result: expand(template, (name) => vars[name], maxExpandedBytes) }),
);

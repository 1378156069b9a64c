import type { Position } from "../json-node.ts";

/** Why a text is not the YAML that Kubernetes reads, and where. */
export class YamlProblem extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.at = at;
  }
}

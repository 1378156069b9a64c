import type { Position } from "../json-node.ts";

export type ScalarStyle = "plain" | "quoted" | "block";

export interface TagToken {
  readonly kind: "tag";
  /** As it stands: `!`, `!!`, `!name!`, or "" where the rest is the whole tag. */
  readonly handle: string;
  readonly suffix: string;
  readonly at: Position;
}

export interface ScalarToken {
  readonly kind: "scalar";
  readonly value: string;
  readonly style: ScalarStyle;
  readonly at: Position;
}

interface NameToken {
  readonly kind: "anchor" | "alias";
  readonly name: string;
  readonly at: Position;
}

interface VersionToken {
  readonly kind: "version";
  readonly version: string;
  readonly at: Position;
}

interface TagDirectiveToken {
  readonly kind: "tagDirective";
  readonly handle: string;
  readonly prefix: string;
  readonly at: Position;
}

export type IndicatorKind =
  | "end"
  | "documentStart"
  | "documentEnd"
  | "blockSequenceStart"
  | "blockMappingStart"
  | "blockEnd"
  | "flowSequenceStart"
  | "flowSequenceEnd"
  | "flowMappingStart"
  | "flowMappingEnd"
  | "flowEntry"
  | "blockEntry"
  | "key"
  | "value";

interface IndicatorToken {
  readonly kind: IndicatorKind;
  readonly at: Position;
}

export type DirectiveToken = VersionToken | TagDirectiveToken;

export type YamlToken = TagToken | ScalarToken | NameToken | DirectiveToken | IndicatorToken;

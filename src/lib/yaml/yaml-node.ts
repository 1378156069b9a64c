import type { Position } from "../json-node.ts";
import type { ScalarStyle } from "./yaml-token.ts";

interface NodeProperties {
  readonly anchor?: string | undefined;
  /** In full, as `tag:yaml.org,2002:int`. */
  readonly tag?: string | undefined;
  readonly at: Position;
}

export interface YamlScalar extends NodeProperties {
  readonly kind: "scalar";
  readonly value: string;
  readonly style: ScalarStyle;
}

interface YamlSequence extends NodeProperties {
  readonly kind: "sequence";
  readonly items: readonly YamlNode[];
}

export interface YamlMapping extends NodeProperties {
  readonly kind: "mapping";
  readonly pairs: readonly YamlPair[];
}

export interface YamlAlias {
  readonly kind: "alias";
  readonly name: string;
  readonly at: Position;
}

export interface YamlPair {
  readonly key: YamlNode;
  readonly value: YamlNode;
}

export type YamlNode = YamlScalar | YamlSequence | YamlMapping | YamlAlias;

// Label selectors, as fields of an object or as text: "app=web,tier in (a, b),!old".
import { err, ok, type Result } from "../lib/result.ts";
import type { LabelSelector as LabelSelectorFields } from "./generated/kubernetes.ts";

type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: "in" | "notIn" | "exists" | "notExists";
  readonly values: readonly string[];
}

/** Whether an object's labels are selected. */
export type LabelSelector = (labels: Labels | undefined) => boolean;

const keyPattern = "[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?";
const valuePattern = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?";
const exists = new RegExp(`^(!?)\\s*(${keyPattern})$`);
const equals = new RegExp(`^(${keyPattern})\\s*(==|=|!=)\\s*(${valuePattern})$`);
const isIn = new RegExp(`^(${keyPattern})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const wholeValue = new RegExp(`^${valuePattern}$`);

const operators: Readonly<Record<string, Requirement["operator"]>> = {
  In: "in",
  NotIn: "notIn",
  Exists: "exists",
  DoesNotExist: "notExists",
};

/** Fields that are empty select everything; none at all, and an operator that does not exist, select nothing. */
export function labelSelectorOf(fields: LabelSelectorFields | undefined): LabelSelector {
  if (fields === undefined) return () => false;
  const { matchLabels = {}, matchExpressions = [] } = fields;
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({
    key,
    operator: "in",
    values: [value],
  }));
  for (const { key, operator: name, values = [] } of matchExpressions) {
    const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
    if (operator === undefined) return () => false;
    requirements.push({ key, operator, values });
  }
  return (labels) => requirements.every((requirement) => matches(requirement, labels ?? {}));
}

/** An empty text selects everything. */
export function parseLabelSelector(text: string): Result<LabelSelector, string> {
  const requirements: Requirement[] = [];
  if (text.trim() === "") return ok(() => true);
  for (const part of splitRequirements(text)) {
    const requirement = parseRequirement(part.trim());
    if (requirement === undefined) {
      return err(
        `unable to parse requirement "${part.trim()}": write key=value, key!=value, key in (a,b), key notin (a,b), key or !key`,
      );
    }
    requirements.push(requirement);
  }
  return ok((labels) => requirements.every((requirement) => matches(requirement, labels ?? {})));
}

/** At commas; one inside parentheses, where the next one closes, separates values and not requirements. */
function splitRequirements(text: string): readonly string[] {
  const parts: string[] = [];
  let end = text.length;
  let next: string | undefined;
  for (let index = end - 1; index >= 0; index--) {
    const character = text[index];
    if (character === "(" || character === ")") next = character;
    if (character !== "," || next === ")") continue;
    parts.push(text.slice(index + 1, end));
    end = index;
  }
  return [...parts, text.slice(0, end)].toReversed();
}

function parseRequirement(text: string): Requirement | undefined {
  const presence = exists.exec(text);
  if (presence?.[2] !== undefined) {
    const operator = presence[1] === "!" ? "notExists" : "exists";
    return { key: presence[2], operator, values: [] };
  }
  const equality = equals.exec(text);
  if (equality?.[1] !== undefined) {
    const operator = equality[2] === "!=" ? "notIn" : "in";
    return { key: equality[1], operator, values: [equality[3] ?? ""] };
  }
  const set = isIn.exec(text);
  if (set?.[1] === undefined) return undefined;
  const values = (set[3] ?? "").split(",").map((value) => value.trim());
  if (!values.every((value) => wholeValue.test(value))) return undefined;
  return { key: set[1], operator: set[2] === "in" ? "in" : "notIn", values };
}

function matches({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "notExists":
      return value === undefined;
    case "in":
      return value !== undefined && values.includes(value);
    case "notIn":
      return value === undefined || !values.includes(value);
    default:
      return operator satisfies never;
  }
}

// Label selectors as text: "app=web,tier in (a, b),!old".
import { err, ok, type Result } from "../lib/result.ts";

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

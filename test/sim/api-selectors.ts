interface Selected {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> } | object;
}

/** Whether an object matches the field and label selectors of a query (`a=b`, `a==b`, `a!=b`, for labels also `a`). */
export function matchesSelectors(
  object: Selected,
  query: Readonly<Record<string, string>>,
): boolean {
  const labels = (object.metadata as { readonly labels?: Readonly<Record<string, string>> }).labels;
  return (
    terms(query["fieldSelector"]).every((term) => matches(term, fieldOf(object, term.name))) &&
    terms(query["labelSelector"]).every((term) => matches(term, labels?.[term.name]))
  );
}

interface Term {
  readonly name: string;
  readonly operator: "=" | "!=" | "exists";
  readonly value: string;
}

function terms(selector: string | undefined): readonly Term[] {
  if (selector === undefined || selector === "") return [];
  return selector.split(",").map((text) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(text);
    if (match === null) return { name: text, operator: "exists", value: "" };
    const [, name = "", operator, value = ""] = match;
    return { name, operator: operator === "!=" ? "!=" : "=", value };
  });
}

function matches({ operator, value }: Term, actual: string | undefined): boolean {
  switch (operator) {
    case "exists":
      return actual !== undefined;
    case "=":
      return (actual ?? "") === value;
    case "!=":
      return (actual ?? "") !== value;
  }
}

function fieldOf(object: object, path: string): string | undefined {
  let value: unknown = object;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return typeof value === "string" ? value : undefined;
}

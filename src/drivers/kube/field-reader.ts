/** Says which field of a document is not as it should be. */
export class FieldProblem extends Error {}

/** Reads fields of plain data by name. What is missing or null is empty; what has another type throws a FieldProblem. */
export class FieldReader {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (!isRecord(value ?? {})) throw new FieldProblem(`${path || "the document"} is not a map`);
    this.#fields = isRecord(value) ? value : {};
    this.#path = path;
  }

  pathOf(field: string): string {
    return this.#path === "" ? field : `${this.#path}.${field}`;
  }

  /** Whether there is something that is not empty. */
  has(field: string): boolean {
    const value = this.value(field);
    return value !== undefined && value !== null && value !== "";
  }

  value(field: string): unknown {
    return Object.hasOwn(this.#fields, field) ? this.#fields[field] : undefined;
  }

  text(field: string): string {
    return textOf(this.value(field) ?? "", this.pathOf(field));
  }

  flag(field: string): boolean {
    const value = this.value(field) ?? false;
    if (typeof value !== "boolean")
      throw new FieldProblem(`${this.pathOf(field)} is not true or false`);
    return value;
  }

  object(field: string): FieldReader {
    return new FieldReader(this.value(field), this.pathOf(field));
  }

  items(field: string): readonly FieldReader[] {
    return this.#list(field).map(
      (item, index) => new FieldReader(item, `${this.pathOf(field)}[${index}]`),
    );
  }

  texts(field: string): readonly string[] {
    return this.#list(field).map((item, index) => textOf(item, `${this.pathOf(field)}[${index}]`));
  }

  /** A map of lists of texts. */
  textLists(field: string): Readonly<Record<string, readonly string[]>> {
    const inner = this.object(field);
    const names = Object.keys(inner.#fields);
    return Object.fromEntries(names.map((name) => [name, inner.texts(name)]));
  }

  #list(field: string): readonly unknown[] {
    const value = this.value(field) ?? [];
    if (!Array.isArray(value)) throw new FieldProblem(`${this.pathOf(field)} is not a list`);
    return value;
  }
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== "string") throw new FieldProblem(`${path} is not a string`);
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { HttpError } from "./http-error.ts";

/** The fields of a kind of object that can be selected by. */
export type SelectableFields<Item> = Readonly<Record<string, (item: Item) => string | undefined>>;

/** Reads "metadata.name=web,status.phase!=Running"; nothing selects everything. */
export function parseFieldSelector<Item>(
  text: string | null,
  fields: SelectableFields<Item>,
): (item: Item) => boolean {
  const tests = (text ?? "")
    .split(",")
    .filter((part) => part.trim() !== "")
    .map((part) => parseTerm(part.trim(), fields));
  return (item) => tests.every((passes) => passes(item));
}

function parseTerm<Item>(term: string, fields: SelectableFields<Item>): (item: Item) => boolean {
  const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
  const [, name = "", operator, value] = match ?? [];
  if (match === null) {
    throw new HttpError(
      "BadRequest",
      `invalid field selector "${term}": write field=value or field!=value`,
    );
  }
  const read = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (read === undefined) {
    const known = Object.keys(fields).join(", ");
    throw new HttpError("BadRequest", `field label not supported: ${name} (known: ${known})`);
  }
  return (item) => ((read(item) ?? "") === value) === (operator !== "!=");
}

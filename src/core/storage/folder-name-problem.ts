import { quoteText } from "../../lib/go-text.ts";

/**
 * Why a disk cannot be named so; undefined when it can. Folders of the node are named after its fields, which the author of a pod writes
 * and the API server does not look at: a slash in one would lead anywhere.
 */
export function folderNameProblem(
  source: string,
  fields: Readonly<Record<string, readonly string[]>>,
): string | undefined {
  for (const [field, names] of Object.entries(fields)) {
    const name = names.find((each) => each.includes("/") || each.includes("\0"));
    if (name === undefined) continue;
    return `${source}.${field}: ${quoteText(name)} must not contain a slash or NUL: a folder of the node is named after it`;
  }
  return undefined;
}

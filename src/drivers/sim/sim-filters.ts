/** Whether an id passes a filter by id; an empty filter passes all. */
export function isWanted(wanted: string | undefined, id: string | undefined): boolean {
  return wanted === undefined || wanted === "" || wanted === id;
}

/** Whether something has all labels that a filter asks for. */
export function hasLabels(
  labels: Readonly<Record<string, string>> = {},
  selector: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

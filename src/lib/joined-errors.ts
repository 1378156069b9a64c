/** Several messages as one, each once: a single one as it is, more in brackets. */
export function joinedErrors(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  const [only] = distinct;
  return distinct.length === 1 && only !== undefined ? only : `[${distinct.join(", ")}]`;
}

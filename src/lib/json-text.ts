// JSON from outside: how large and how deep it may be.

/** No object of Kubernetes is half as deep. What is walked by functions that call themselves must end before the stack does. */
export const maxNestingDepth = 100;

/** Of one document, in characters. */
export const maxDocumentLength: number = 10 * 1024 * 1024;

/** Keys and values of one document. A text of few bytes can have millions, and each takes time, on the agent's only thread. */
export const maxDocumentValues = 100_000;

/** JSON.parse for text that the agent did not write itself: a SyntaxError too when it is nested deeper than anything real. */
export function parseJsonText(text: string): unknown {
  if (isDeeperThan(text, maxNestingDepth)) {
    throw new SyntaxError(`JSON is nested deeper than ${maxNestingDepth} levels`);
  }
  return JSON.parse(text);
}

const quote = 0x22;
const backslash = 0x5c;

/** Counts brackets outside of strings; the result for a text that is not JSON does not matter. */
function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  let isString = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === quote) isString = !isString;
    else if (isString) {
      if (unit === backslash) index++;
    } else if (unit === 0x5b || unit === 0x7b) {
      depth++;
      if (depth > maxDepth) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth--;
  }
  return false;
}

// Globs as Go's path/filepath has them: "*" and "?" match anything but a slash, [a-z] and [^a-z] one character.

type Token =
  | { readonly kind: "star" }
  | { readonly kind: "any" }
  | { readonly kind: "character"; readonly character: string }
  | { readonly kind: "class"; readonly isNegated: boolean; readonly ranges: readonly Range[] };

interface Range {
  readonly low: string;
  readonly high: string;
}

/** Far more than a host name may have (253): beyond it nothing matches, so that a comparison stays short. */
const maxLength = 1024;

/**
 * Whether the glob fits the whole text; false for a glob that is broken. Globs and texts come from outside: of several stars
 * only the last one is ever tried again, so it takes at most as many steps as one length times the other.
 */
export function matchesGlob(glob: string, text: string): boolean {
  if (glob.length > maxLength || text.length > maxLength) return false;
  const tokens = parseGlob(glob);
  return tokens !== undefined && matches(tokens, Array.from(text));
}

function matches(tokens: readonly Token[], characters: readonly string[]): boolean {
  let token = 0;
  let character = 0;
  let lastStar: { readonly token: number; character: number } | undefined;
  while (character < characters.length) {
    const wanted = tokens[token];
    if (wanted?.kind === "star") {
      lastStar = { token, character };
      token++;
    } else if (wanted !== undefined && fits(wanted, characters[character] ?? "")) {
      token++;
      character++;
    } else {
      // The last star takes one character more; what was before it fits already.
      if (lastStar === undefined || characters[lastStar.character] === "/") return false;
      lastStar.character++;
      token = lastStar.token + 1;
      character = lastStar.character;
    }
  }
  return tokens.slice(token).every(({ kind }) => kind === "star");
}

function fits(token: Exclude<Token, { kind: "star" }>, character: string): boolean {
  switch (token.kind) {
    case "any":
      return character !== "/";
    case "character":
      return character === token.character;
    case "class": {
      const code = codeOf(character);
      const isInside = token.ranges.some(
        ({ low, high }) => codeOf(low) <= code && code <= codeOf(high),
      );
      return isInside !== token.isNegated;
    }
  }
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** Undefined when a class has no end or no content, or a backslash nothing after it. */
function parseGlob(glob: string): readonly Token[] | undefined {
  const characters = Array.from(glob);
  const tokens: Token[] = [];
  let at = 0;
  while (at < characters.length) {
    const character = characters[at] ?? "";
    if (character === "[") {
      const found = parseClass(characters, at + 1);
      if (found === undefined) return undefined;
      tokens.push(found.token);
      at = found.next;
      continue;
    }
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "star") tokens.push({ kind: "star" });
    } else if (character === "?") {
      tokens.push({ kind: "any" });
    } else {
      if (character === "\\") at++;
      const literal = characters[at];
      if (literal === undefined) return undefined;
      tokens.push({ kind: "character", character: literal });
    }
    at++;
  }
  return tokens;
}

function parseClass(
  characters: readonly string[],
  start: number,
): { readonly token: Token; readonly next: number } | undefined {
  let at = start;
  const isNegated = characters[at] === "^";
  if (isNegated) at++;
  const ranges: Range[] = [];
  const readCharacter = (): string | undefined => {
    const character = characters[at];
    if (character === undefined || character === "-" || character === "]") return undefined;
    if (character === "\\") at++;
    return characters[at++];
  };
  while (characters[at] !== "]" || ranges.length === 0) {
    const low = readCharacter();
    if (low === undefined) return undefined;
    let high: string | undefined = low;
    if (characters[at] === "-") {
      at++;
      high = readCharacter();
    }
    if (high === undefined) return undefined;
    ranges.push({ low, high });
  }
  return { token: { kind: "class", isNegated, ranges }, next: at + 1 };
}

// What a terminal sends for a key.

export interface PressedKey {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  readonly metaKey: boolean;
}

const escape = "\u001b";
const cursorKeys: Readonly<Record<string, string>> = {
  ArrowUp: "A",
  ArrowDown: "B",
  ArrowRight: "C",
  ArrowLeft: "D",
  End: "F",
  Home: "H",
};
const numbered: Readonly<Record<string, number>> = {
  Insert: 2,
  Delete: 3,
  PageUp: 5,
  PageDown: 6,
  F5: 15,
  F6: 17,
  F7: 18,
  F8: 19,
  F9: 20,
  F10: 21,
  F11: 23,
  F12: 24,
};
const functions: Readonly<Record<string, string>> = { F1: "P", F2: "Q", F3: "R", F4: "S" };
const plain: Readonly<Record<string, string>> = {
  Enter: "\r",
  Backspace: "\u007f",
  Tab: "\t",
  Escape: escape,
};

/** Undefined = not the terminal's: text comes as input, and the browser has keys of its own. */
export function keySequence(pressed: PressedKey, isApplicationMode: boolean): string | undefined {
  const { key, ctrlKey, altKey, shiftKey, metaKey } = pressed;
  if (metaKey) return undefined;
  // Out of the terminal, for those who have no pointer.
  if (key === "Tab" && ctrlKey) return undefined;
  if (key === "Tab" && shiftKey) return `${escape}[Z`;
  const modifier = 1 + Number(shiftKey) + 2 * Number(altKey) + 4 * Number(ctrlKey);
  const letter = cursorKeys[key];
  if (letter !== undefined) {
    if (modifier > 1) return `${escape}[1;${modifier}${letter}`;
    return `${escape}${isApplicationMode ? "O" : "["}${letter}`;
  }
  const number = numbered[key];
  if (number !== undefined) return `${escape}[${number}${modifier > 1 ? `;${modifier}` : ""}~`;
  const name = functions[key];
  if (name !== undefined) return `${escape}O${name}`;
  const known = plain[key];
  if (known !== undefined) return altKey ? `${escape}${known}` : known;
  if (key.length !== 1) return undefined;
  // Both together are AltGr on some systems: the key is the character that it makes.
  if (ctrlKey) return shiftKey || altKey ? undefined : controlOf(key);
  return altKey ? `${escape}${key}` : undefined;
}

function controlOf(key: string): string | undefined {
  if (key === " ") return "\u0000";
  const code = key.toUpperCase().charCodeAt(0);
  return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code - 0x40) : undefined;
}

export type Colour = "bold" | "dim" | "red" | "green" | "yellow";

const codes: Readonly<Record<Colour, string>> = {
  bold: "1",
  dim: "2",
  red: "31",
  green: "32",
  yellow: "33",
};

/** Paints text, or leaves it as it is where colours are not wanted. */
export type Paint = (colour: Colour | undefined, text: string) => string;

export function painter(colours: boolean): Paint {
  return (colour, text) =>
    !colours || colour === undefined || text === "" ? text : `\x1b[${codes[colour]}m${text}\x1b[0m`;
}

/** What containers print may carry control characters: shown in a table they must not move the cursor. */
export function printable(text: string): string {
  // The C1 range counts too: terminals read 0x9b like ESC [.
  return text.replaceAll(/[\p{Cc}]/gu, (character) =>
    character === "\n" || character === "\t" ? " " : "\uFFFD",
  );
}
